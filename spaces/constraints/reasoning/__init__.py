"""What follows from conditions over sizes and loops: intervals, bits, terms of the solver."""
