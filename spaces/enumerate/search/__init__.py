"""Which schedules are cheap: the search strategies."""
