"""What expressions mean as formulas: polynomials, limits, intervals, and the solver's terms."""
