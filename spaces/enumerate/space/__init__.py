"""What schedules there are: spaces, their decisions, counts and draws."""
