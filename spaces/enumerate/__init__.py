"""Spaces of schedules: iteration, counting, sampling, and search strategies."""
