"""Counts, ranks and random schedules of a space."""
