"""``python -m bench tuning_minutes unsharp`` tunes an app for two minutes and for ten.

Each tuning begins with an empty store. Then both winners run in turns, in one process. The command
says how much slower the winner of the short tuning is, and how many trials it had. With two seeds
an app takes 25 minutes. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.contenders import inputs_of, pipeline_of
from bench.machine import machine
from bench.report import RESULTS
from spaces.apps.files import write_text
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.rounds import EVERY_ROUND
from spaces.backend.measuring.task import MeasuringLimits
from spaces.model.writing.text import format_schedule
from spaces.tuning.study import Study
from spaces.tuning.tune import tune

FILE = RESULTS / "tuning_minutes.json"

SHORT, LONG = 120.0, 600.0
"""The time limits in seconds."""

ROUNDS = 41
"""How often both winners run in turns."""


def compare(app: str, seed: int, short: float, long: float) -> dict[str, Any]:
    """Tunes for two times, and compares what they end with.

    Args:
        app: the app.
        seed: the seed of both tunings.
        short: the seconds of one.
        long: the seconds of the other one.

    Returns:
        The trials of both, the part by which the winner of the first is slower, and both schedules.
    """
    with tempfile.TemporaryDirectory() as folder:
        studies = [
            _tuned(app, seed, seconds, Path(folder) / f"{number}.sqlite")
            for number, seconds in enumerate((short, long))
        ]
        winners = [study.best for study in studies]
        if winners[0] is None or winners[1] is None:
            raise SystemExit(f"A tuning of {app} has no trial with times.")
        first, second = winners[0].schedule, winners[1].schedule
        with LocalMeasurer(
            reference=second,
            trusted=studies[0].trusted,
            inputs=inputs_of(app),
            race=EVERY_ROUND,
            limits=MeasuringLimits(rounds=ROUNDS),
        ) as measurer:
            (beside,) = measurer.measure(pipeline_of(app), [first])
        pipeline = pipeline_of(app)
        return {
            "seed": seed,
            "seconds": [short, long],
            "trials": [study.told for study in studies],
            "slower": round(beside.ratio - 1, 4),
            "interval": [round(end - 1, 4) for end in beside.interval],
            "ms": round(statistics.median(beside.reference_seconds) * 1e3, 3),
            "schedules": [format_schedule(one, pipeline) for one in (first, second)],
        }


def _tuned(app: str, seed: int, seconds: float, path: Path) -> Study:
    return tune(pipeline_of(app), store=path, seconds=seconds, seed=seed, inputs=inputs_of(app))


def main(arguments: list[str]) -> None:
    """Tunes, prints, and writes the file."""
    parser = argparse.ArgumentParser(prog="python -m bench tuning_minutes", description=__doc__)
    parser.add_argument("apps", nargs="*", default=["unsharp"])
    parser.add_argument("--seeds", type=int, default=2, help="how many seeds")
    parser.add_argument("--seconds", type=float, nargs=2, default=(SHORT, LONG))
    chosen = parser.parse_args(arguments)
    found: dict[str, list[dict[str, Any]]] = {}
    for app in chosen.apps:
        for seed in range(chosen.seeds):
            found.setdefault(app, []).append(compare(app, seed, *chosen.seconds))
            print(app, json.dumps(found[app][-1]), flush=True)
    if tuple(chosen.seconds) == (SHORT, LONG):
        report = {"machine": machine(), "results": found}
        write_text(FILE, json.dumps(report, indent=2) + "\n")
