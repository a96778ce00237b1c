"""Lowering passes, one a file: from a loop nest to a program that a code generator prints.

Each pass takes a program that is valid and gives one that is valid and computes the same values.
Passes of both roads lie here, those of one road in ``cpu`` and ``gpu``, and in
``analyses`` what passes ask before they change anything.
"""
