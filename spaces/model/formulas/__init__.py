"""Expressions as formulas: their readings, normal forms, limits, intervals and z3 terms."""
