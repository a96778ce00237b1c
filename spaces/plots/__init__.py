"""What plots of searches and of studies share: decisions of schedules, charts and pictures."""
