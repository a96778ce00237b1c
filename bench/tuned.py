"""Ten minutes of tuning an app: the fastest schedule that they find. A later call goes on where an
earlier one stopped, or from its schedule; ``against_autoschedulers`` takes the schedules of this
kind of processor.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from bench.against_autoschedulers import chosen_apps
from bench.contenders import inputs_of, pipeline_of
from bench.machine import processor
from spaces.backend.measuring.cpu_program import fast_cpu_program
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.tolerances import tolerance
from spaces.constraints.devices.device import Device, device
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study

TUNING = 600.0
"""Seconds for an app, searches and measurements together."""

SEARCHING = 30.0
"""The most seconds in which a search finds a schedule to begin with, an eighth of all at most."""

STORES = Path("build/tuned")
"""Where the studies are kept; without them tuning begins with the fastest schedule and that of a
search.
"""


def measure(
    chosen: Collection[str] = (),
    earlier: Mapping[str, dict[str, Any]] | None = None,
    seconds: float = TUNING,
) -> dict[str, Any]:
    """For each app the seconds of tuning so far, the trials and the fastest schedule. Apps outside
    ``chosen`` keep their ``earlier`` results.

    Args:
        chosen: the apps; all if none are given.
        earlier: the results of earlier calls, which this one goes on from.
        seconds: the most time for an app in this call.
    """
    STORES.mkdir(parents=True, exist_ok=True)
    apps = dict(earlier or {})
    for app in chosen or chosen_apps():
        known = apps.get(app, {})
        if known.get("processor") != processor():
            # Of another machine only the schedule counts.
            known = {name: known[name] for name in ("schedule",) if name in known}
        rest = min(TUNING - float(known.get("seconds", 0.0)), seconds)
        if rest > 0:
            apps[app] = _tuned(app, known, rest)
            print(f"  {app}: {apps[app]}", flush=True)
    return {"apps": apps}


def _options(target: Device) -> Options:
    """Whole patterns of loops, wrappers and clones."""
    medium = Options.medium(target)
    return evolve(medium, directives=(*medium.directives, "clone_in", "in_"))


def _first(
    pipeline: Pipeline, target: Device, known: Mapping[str, Any], seconds: float
) -> list[Schedule]:
    """The schedules with which tuning begins: the one that is known, and the one that a search
    finds; it may be outside the space of tuning.
    """
    found = best(search(ScheduleSpace(pipeline, target), limits=Limits(seconds=seconds))).best
    first = [parse_schedule(known["schedule"], pipeline)] if "schedule" in known else []
    return [*first, *(one.schedule for one in found)]


def _tuned(app: str, known: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The results of an app after more tuning, which begins with the schedule that is known."""
    pipeline, target = pipeline_of(app), device("cpu")
    deadline = Deadline.after(seconds)
    searching = min(SEARCHING, seconds / 8)
    start = _first(pipeline, target, known, searching)
    with (
        TuningStore.open(STORES / f"{app}.db") as store,
        Study.open(
            store,
            ScheduleSpace(pipeline, target, _options(target)),
            start=start,
            searching=searching,
        ) as study,
        LocalMeasurer(
            reference=study.reference,
            trusted=study.trusted,
            inputs=inputs_of(app),
            make=fast_cpu_program,
            allowed=tolerance(pipeline),
        ) as measurer,
    ):
        study.run(measurer, seconds=deadline.left)
    found = {
        **known,
        "seconds": round(float(known.get("seconds", 0.0)) + seconds - deadline.left, 1),
        "trials": len(study.trials),
    }
    fastest = study.best
    if fastest is not None and fastest.result is not None:
        found["ms"] = round(statistics.median(fastest.result.seconds) * 1e3, 3)
        found["schedule"] = format_schedule(fastest.schedule, pipeline)
        found["processor"] = processor()
    return found
