"""Other schedules that compute the same as a found one and may be cheaper."""
