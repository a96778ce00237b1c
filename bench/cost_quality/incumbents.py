"""Schedules that somebody would propose for a pipeline: what strategies and cost models find, and
Halide's autoschedulers.

A model must be right about them first of all: a search visits extremes that random draws miss.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.processes import Contender, ContenderFailed
from spaces.backend.halide.autoschedule import AUTOSCHEDULERS, autoscheduled
from spaces.constraints.devices.device import device, host_cpu
from spaces.constraints.legality.verify import verify
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import format_schedule, parse_schedule

SEARCHES = (
    ("stagewise", "reuse"),
    ("stagewise", "weighted"),
    ("stagewise", "roofline"),
    ("grouping", "reuse"),
)
"""The strategies and cost models whose schedules are taken."""

TOP = 4
"""How many of the first schedules of a search."""

STRUCTURES = 300
"""After this many structures a search ends; that gives the same schedules on every machine."""

FINDING = 60.0
"""Seconds in which an autoscheduler must find a schedule."""


def incumbents(space: ScheduleSpace) -> list[Schedule]:
    """The schedules that searches of a space and Halide's autoschedulers find, each once, those of
    searches first. Those of Halide need not be in the space.
    """
    found = dict.fromkeys(_searched(space))
    found |= dict.fromkeys(_autoscheduled(space.pipeline))
    return list(found)


def _searched(space: ScheduleSpace) -> Iterator[Schedule]:
    for how, model in SEARCHES:
        limits = Limits(top=TOP, structures=STRUCTURES)
        try:
            done = best(search(space, cost_model(model, space.device), how, limits))
        except EmptySpaceError as empty:
            print(f"  {space.pipeline.name}: {how} under {model}: {empty}", flush=True)
            continue
        for one in done.best:
            yield one.schedule


def _autoscheduled(pipeline: Pipeline) -> Iterator[Schedule]:
    """Those that are legal here; each is sought in a process of its own, which may crash."""
    algorithm, cores = to_json(pipeline), host_cpu().cores
    for name in AUTOSCHEDULERS:
        contender = Contender.started(name)
        try:
            text = contender.ask(_found, algorithm, name, cores, seconds=FINDING)
        except ContenderFailed as failed:
            print(f"  {pipeline.name}: {name}: {failed}", flush=True)
            continue
        finally:
            contender.end()
        schedule = parse_schedule(text, pipeline)
        verdict = verify(pipeline, schedule, device("cpu"))
        if verdict:
            yield schedule
        else:
            print(f"  {pipeline.name}: {name} finds what is illegal here: {verdict}", flush=True)


def _found(algorithm: str, autoscheduler: str, cores: int) -> str:
    """The schedule of an autoscheduler for a pipeline that is given as JSON, as text."""
    pipeline = from_json(algorithm, Pipeline)
    return format_schedule(autoscheduled(pipeline, autoscheduler, cores).schedule, pipeline)
