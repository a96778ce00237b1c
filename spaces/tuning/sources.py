"""Who proposes schedules: the sources of trials that every study has. Strategies add theirs."""

REFERENCE = "reference"
"""The source of the schedule that runs beside all others."""

START = "start"
"""The source of schedules that the user gives."""

KEPT = "kept"
"""The source of schedules that were fast elsewhere."""
