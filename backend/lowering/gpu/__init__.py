"""Passes of programs whose kernels a GPU runs, one a file, and their order."""
