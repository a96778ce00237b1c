"""Pipelines of the literature, their hand-written schedules, and the command line."""
