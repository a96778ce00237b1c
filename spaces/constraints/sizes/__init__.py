"""Sizes of loops and storage as formulas, and the constants that they never exceed."""
