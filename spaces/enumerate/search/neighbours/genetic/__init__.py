"""Genetic search, as in [RK13] section 5."""
