"""Searched schedules against the default one, for [TOY]'s three benchmarks at 2048 x 2048.

The default is [TOY]'s: serial loops over the output, everything inlined. The schedules that
[TOY] itself found were slower than the default on two of the three.
"""

from __future__ import annotations

from typing import Any

from bench.contenders import pipeline_of, program, searched
from spaces.apps.timing import interleaved
from spaces.model.schedules.schedule import Schedule

APPS = ("toy_trig", "toy_blur", "toy_sum")
TOY = ("weighted", "beam", 60.0)
"""The cost model and the strategy of [TOY], and the seconds that the strategy has."""


def measure() -> dict[str, Any]:
    """For each app the medians, and the speed-up over the default."""
    return {app: _measure(app) for app in APPS}


def _measure(app: str) -> dict[str, Any]:
    found = {"reuse": searched(app), "toy": searched(app, *TOY)}
    runs = {"default": program(app, Schedule.default(pipeline_of(app)))}
    for name, outcome in found.items():
        runs[f"{name} first"] = program(app, outcome.first)
        runs[f"{name} fastest"] = program(app, outcome.fastest)
    timings = interleaved(runs, rounds=21)
    return {
        "median_ms": {name: round(t.median_ms, 3) for name, t in timings.items()},
        "times_faster_than_default": {
            name: round(timings["default"].ratio_to(t), 2) for name, t in timings.items()
        },
        "searches": {name: outcome.report for name, outcome in found.items()},
    }
