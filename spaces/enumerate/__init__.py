"""Spaces of schedules: they are listed, counted and sampled, and strategies search them."""
