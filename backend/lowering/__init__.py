"""Lowering passes, one a file: from a loop nest to a program that a code generator prints.

Each pass takes a program that is valid and gives one that is valid and computes the same values.
"""
