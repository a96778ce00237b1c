"""The algorithm, the schedule, and what the two mean together: regions and the loop nest."""
