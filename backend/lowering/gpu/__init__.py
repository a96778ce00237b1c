"""Passes for programs whose kernels a GPU runs, one in each file, and their order."""
