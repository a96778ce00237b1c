"""A space for the solver: it completes schedules, and says why a space is empty."""
