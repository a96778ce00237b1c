"""Dependences between iterations of an update stage, and the loop orders that they allow."""
