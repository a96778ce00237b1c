"""Training of the cost models ``learned`` and ``hybrid`` on measured schedules."""
