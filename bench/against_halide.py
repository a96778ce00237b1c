"""The same pipelines under the same schedules, compiled here and by Halide, in turns.

Both may reorder and contract float arithmetic: that is what Halide does for its plain target.
"""

from __future__ import annotations

import os
from typing import Any

from apps.catalog import APPS
from apps.timing import interleaved
from backend.halide.bridge import build
from backend.halide.errors import HalideFailure
from backend.llvm.operators import FloatMode
from bench.contenders import inputs_of, pipeline_of, program, searched, written
from spaces.constraints.devices import device
from spaces.model.schedule import Schedule


def measure() -> dict[str, Any]:
    """For each app and schedule the medians, and Halide's time divided by ours."""
    cores = getattr(device("cpu"), "cores", 1)
    os.environ["HL_NUM_THREADS"] = str(cores)  # read by Halide's runtime when it first runs
    return {"threads": cores, "apps": {app: _measure(app) for app in APPS}}


def _measure(app: str) -> dict[str, Any]:
    schedules = {name: written(app, name) for name in APPS[app].schedules if name != "gpu"}
    schedules["searched"] = searched(app).fastest
    return {name: _pair(app, schedule) for name, schedule in schedules.items()}


def _pair(app: str, schedule: Schedule) -> dict[str, Any]:
    runs = {"ours": program(app, schedule, float_mode=FloatMode.FAST)}
    refused = ""
    try:
        peer = build(pipeline_of(app), schedule).prepare(inputs_of(app))
        peer()
        runs["halide"] = peer
    except HalideFailure as error:
        refused = str(error)
    timings = interleaved(runs, rounds=21, budget_s=15)
    found: dict[str, Any] = {"ours_ms": round(timings["ours"].median_ms, 3)}
    if refused:
        return {**found, "halide_refuses": refused}
    return {
        **found,
        "halide_ms": round(timings["halide"].median_ms, 3),
        "halide_over_ours": round(timings["halide"].ratio_to(timings["ours"]), 3),
    }
