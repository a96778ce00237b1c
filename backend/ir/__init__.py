"""The program between lowering passes: its statements and vectors, and what every pass does with
them. This folder knows no pass and no printer.
"""
