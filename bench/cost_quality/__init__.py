"""How well cost models rank schedules: measured times of random schedules, and prices beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bench.cost_quality.collecting import collect
from bench.cost_quality.subjects import APPS, RANDOM, Subject

FOLDER = Path(__file__).parent.parent / "results" / "cost_quality"
"""The measured schedules, a file for each app."""

WANTED = 208
"""How many schedules of each app are measured."""


WANTED_OF_RANDOM = 12
"""How many schedules of each random pipeline are measured."""

RANDOM_FILE = FOLDER / "random.jsonl"
"""The measured schedules of all random pipelines."""


def collect_apps(apps: Iterable[str] = APPS) -> None:
    """Measures what is missing in the files of apps."""
    chosen = tuple(apps)
    collect(chosen, Subject.of_app, lambda app: FOLDER / f"{app}.jsonl", WANTED, len(chosen))


def collect_random() -> None:
    """Measures what is missing in the file of random pipelines."""
    seeds = {f"random_{seed}": seed for seed in RANDOM}
    collect(seeds, lambda name: Subject.of_random(seeds[name]), lambda _: RANDOM_FILE,
            WANTED_OF_RANDOM, 1)  # fmt: skip
