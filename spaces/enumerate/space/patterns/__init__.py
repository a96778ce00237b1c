"""Patterns of domain orders: the loops that people write, with tile sizes as parameters."""
