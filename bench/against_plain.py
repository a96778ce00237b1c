"""Searched schedules against plain code on one thread: all inlined, or all computed at root."""

from __future__ import annotations

from typing import Any

from bench.contenders import pipeline_of, program, searched, written
from spaces.apps.all_root import all_root
from spaces.apps.timing import interleaved
from spaces.model.schedules.schedule import Schedule

APPS = ("blur", "unsharp", "harris")


def measure() -> dict[str, Any]:
    """For each app the medians, and the speed-up over the faster plain code."""
    return {app: _measure(app) for app in APPS}


def _measure(app: str) -> dict[str, Any]:
    pipeline = pipeline_of(app)
    found = searched(app)
    runs = {
        "all inline, 1 thread": program(app, Schedule.default(pipeline), threads=1),
        "all root, 1 thread": program(app, all_root(pipeline), threads=1),
        "searched, 1 thread": program(app, found.fastest, threads=1),
        "searched, first": program(app, found.first),
        "searched, fastest": program(app, found.fastest),
        "by hand": program(app, written(app, "cpu")),
    }
    timings = interleaved(runs, rounds=11, budget_s=60)
    plain = min(list(timings)[:2], key=lambda name: timings[name].median_ms)
    return {
        "plain": plain,
        "median_ms": {name: round(t.median_ms, 3) for name, t in timings.items()},
        "times_faster_than_plain": {
            name: round(timings[plain].ratio_to(t), 2) for name, t in timings.items()
        },
        "search": found.report,
    }
