"""Times of compiled schedules, measured in processes of their own."""
