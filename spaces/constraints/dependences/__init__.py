"""Which iterations of an update stage depend on one another, and what that asks of its loops."""
