"""Random pipelines and schedules: what a verdict says is held against what happens."""
