"""The time to verify the schedules of the apps, and to prove them for all image sizes."""

from __future__ import annotations

import statistics
import time
from typing import Any

from spaces.apps.app import App
from spaces.apps.catalog import APPS
from spaces.apps.command_line.proving import prove_schedule
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven
from spaces.model.writing.text import parse_schedule

RUNS = 5
SECONDS = 120.0
"""The time limit for the proofs of one schedule, in seconds."""

DEVICES = {"cpu": "cpu", "gpu": "sm_80", "default": "cpu"}
"""The schedules of an app, each with the device that it is for."""


def measure() -> dict[str, Any]:
    """For each app and schedule the time of ``verify`` and of all proofs on one core.

    The clock counts only this thread, not other work on the core.
    """
    return {
        f"{name} {schedule}": _measure(app, schedule)
        for name, app in APPS.items()
        for schedule in DEVICES
    }


def _measure(app: App, name: str) -> dict[str, Any]:
    pipeline, target = app.pipeline(), device(DEVICES[name])
    schedule = parse_schedule(app.schedules[name].read_text("utf-8"), pipeline)
    times = []
    for _ in range(RUNS):
        start = time.thread_time()
        verify(pipeline, schedule, target)
        times.append((time.thread_time() - start) * 1e3)
    start = time.thread_time()
    report = prove_schedule(pipeline, schedule, target, SECONDS).report
    seconds = time.thread_time() - start
    assert report is not None
    return {
        "stages": sum(len(f.stages) for f in pipeline.functions),
        "verify_ms": round(statistics.median(times), 2),
        "prove_s": round(seconds, 2),
        "obligations": len(report.proofs),
        "proven": len(report.proven),
        "by_solver": sum(p.outcome == Proven("solver") for p in report.proven),
        "refuted": len(report.refuted),
        "unknown": len(report.unknown),
    }
