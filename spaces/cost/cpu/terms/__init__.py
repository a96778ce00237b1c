"""The terms of the cost of a schedule on a CPU, one idea a file."""
