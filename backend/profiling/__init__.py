"""Profiled runs: the compiled pipeline counts the time of each Func."""
