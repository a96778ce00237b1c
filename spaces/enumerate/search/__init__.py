"""The search for cheap schedules: the default search, its steps, and other strategies."""
