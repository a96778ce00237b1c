"""Cost models of a few lines: weights of features."""
