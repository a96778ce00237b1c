"""Schedules of array pipelines as values: enumerate, count, rank, verify and compile them."""
