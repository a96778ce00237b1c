"""How long it takes to verify a hand-written schedule, and to prove it for all image sizes."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from attrs import frozen

import apps
from apps import blur, camera_pipe, harris, local_laplacian, unsharp
from apps.proving import prove_schedule
from spaces.constraints.devices import device
from spaces.constraints.verify import verify
from spaces.model.pipeline import Pipeline
from spaces.model.schedule import Schedule
from spaces.model.text import parse_schedule

RUNS = 41
SECONDS = 120.0
"""How long the proofs of one schedule may take."""


@frozen
class _Case:
    pipeline: Pipeline
    schedule: Schedule
    device: str


def measure() -> dict[str, Any]:
    """For each app and schedule what ``verify`` and all proofs take on one core."""
    return {
        f"{module.__name__.removeprefix('apps.')} {name}": _measure(_case(module.pipeline(), name))
        for module, names in (
            (blur, ("cpu", "gpu")),
            (unsharp, ("cpu", "gpu", "default")),
            (harris, ("cpu", "gpu", "default")),
            (camera_pipe, ("cpu",)),
            (local_laplacian, ("cpu",)),
        )
        for name in names
    }


def _case(pipeline: Pipeline, name: str) -> _Case:
    folder = Path(apps.__file__).parent / "schedules" / pipeline.name
    text = (folder / f"{name}.sched").read_text("utf-8")
    target = "sm_80" if name == "gpu" else "cpu"
    return _Case(pipeline, parse_schedule(text, pipeline), target)


def _measure(case: _Case) -> dict[str, Any]:
    target = device(case.device)
    times = []
    for _ in range(RUNS):
        # The time of this thread leaves out what others take of the core.
        start = time.thread_time()
        verify(case.pipeline, case.schedule, target)
        times.append((time.thread_time() - start) * 1e3)
    report = prove_schedule(case.pipeline, case.schedule, target, SECONDS).report
    assert report is not None
    return {
        "stages": sum(len(f.stages) for f in case.pipeline.functions),
        "verify_ms": round(statistics.median(times), 2),
        "prove_s": round(report.seconds, 2),
        "solver_s": round(report.solver_seconds, 2),
        "obligations": len(report.proofs),
        "proven": len(report.proven),
        "refuted": len(report.refuted),
        "unknown": len(report.unknown),
    }
