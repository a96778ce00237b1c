"""Passes of programs that a CPU runs, one a file, and their order."""
