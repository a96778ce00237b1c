"""How well cost models rank schedules: measured times of random schedules, and prices beside them.
"""

from __future__ import annotations

import functools
from pathlib import Path

from bench.cost_quality.collecting import InTurns
from bench.cost_quality.subjects import APPS, Subject

FOLDER = Path(__file__).parent.parent / "results" / "cost_quality"
"""The measured schedules, a file for each app."""

WANTED = 208
"""How many schedules of each app are measured."""


def collect() -> None:
    """Measures what is missing in the files."""
    subjects = {app: functools.partial(Subject.of_app, app) for app in APPS}
    InTurns(subjects, lambda app: FOLDER / f"{app}.jsonl", WANTED).run()
