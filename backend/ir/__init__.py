"""The program between lowering passes: its statements and vectors, and what every pass does with
them. It knows no pass and no printer.
"""
