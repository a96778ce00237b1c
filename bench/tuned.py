"""Ten minutes of tuning an app: the fastest schedule that they find. A later call goes on where an
earlier one stopped; ``against_autoschedulers`` takes the schedules of this kind of processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from bench.against_autoschedulers import chosen_apps
from bench.contenders import inputs_of, pipeline_of
from bench.machine import processor
from spaces.constraints.devices.device import device
from spaces.enumerate.options import Options
from spaces.model.writing.text import format_schedule
from spaces.tuning.tune import tune

TUNING = 600.0
"""Seconds for an app, searches and measurements together."""

STORES = Path("build/tuned")
"""Where the studies are kept; without them tuning begins anew."""


def measure(
    chosen: Collection[str] = (), earlier: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """For each app the seconds of tuning so far, the trials and the fastest schedule. Apps outside
    ``chosen`` keep their ``earlier`` results.
    """
    STORES.mkdir(parents=True, exist_ok=True)
    apps = dict(earlier or {})
    for app in chosen or chosen_apps():
        spent = float(apps.get(app, {}).get("seconds", 0.0))
        if spent < TUNING:
            apps[app] = _tuned(app, spent)
            print(f"  {app}: {apps[app]}", flush=True)
    return {"apps": apps}


def _tuned(app: str, spent: float) -> dict[str, Any]:
    pipeline, target = pipeline_of(app), device("cpu")
    start = time.monotonic()
    study = tune(
        pipeline,
        target,
        store=STORES / f"{app}.db",
        seconds=TUNING - spent,
        options=Options.medium(target),
        inputs=inputs_of(app),
    )
    found = {
        "processor": processor(),
        "seconds": round(spent + time.monotonic() - start, 1),
        "trials": len(study.trials),
    }
    best = study.best
    if best is not None and best.result is not None:
        found["ms"] = round(statistics.median(best.result.seconds) * 1e3, 3)
        found["schedule"] = format_schedule(best.schedule, pipeline)
    return found
