"""Searches that go from schedules to others near them."""
