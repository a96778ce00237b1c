"""Lowering passes, one a file: from a loop nest to a program that a code generator prints.

Each pass takes a valid program and returns a valid program that computes the same values. Passes
for both targets are here; ``cpu`` and ``gpu`` hold the passes for one target. ``analyses`` answers
the questions that passes ask before they change anything.
"""
