"""Devices and their limits, the rules of legality, and their solver encoding."""
