"""Passes for programs that a CPU runs, one in each file, and their order."""
