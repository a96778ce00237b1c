"""Random pipelines whose windows move every way, and random schedules that store outside."""
