"""Schedules and pipelines as text and as JSON, written and read."""
