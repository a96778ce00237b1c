"""The contenders: inputs at the papers' sizes, plain schedules, and searched schedules."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from spaces.apps.catalog import APPS, find
from spaces.apps.command_line.options import given_schedule
from spaces.apps.photographs import photograph
from spaces.apps.timing import interleaved
from spaces.backend.arguments import Array
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.registry import default_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import default_strategy
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

Program: TypeAlias = Callable[[], object]

Outputs: TypeAlias = Mapping[str, Array]

FINALISTS = 6
"""The number of schedules of a search that are timed."""


def pipeline_of(app: str) -> Pipeline:
    """The pipeline of an app or of the gallery, with the paper's size as its estimate."""
    return find(app).pipeline()


@functools.cache
def inputs_of(app: str) -> dict[str, Array]:
    """The images at the paper's size, made from the photograph; the same in every run."""
    found = find(app)
    return found.inputs(pipeline_of(app), photograph(*found.paper_size))


def sizes_of(app: str) -> dict[str, tuple[tuple[int, int], ...]]:
    """The (min, extent) of each dimension of every buffer at the paper's size."""
    return {e.buffer: e.ranges for e in pipeline_of(app).estimates}


def written(app: str, name: str) -> Schedule:
    """A hand-written schedule of an app."""
    return given_schedule(APPS[app], pipeline_of(app), name).faultless()


def legal(pipeline: Pipeline, schedule: Schedule) -> CheckedSchedule:
    """The schedule, verified for this CPU."""
    verdict = verify(pipeline, schedule, device("cpu"))
    if not isinstance(verdict, CheckedSchedule):
        raise ValueError(f"not legal: {verdict}")
    return verdict


def compiled(
    app: str,
    schedule: Schedule,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
) -> CompiledPipeline:
    """The machine code of an app under a schedule."""
    verdict = legal(pipeline_of(app), schedule)
    return compile_cpu(verdict, threads=threads, float_mode=float_mode)


def program(
    app: str,
    schedule: Schedule,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
) -> Callable[[], Outputs]:
    """A function that runs an app once, on checked arguments, always into the same memory."""
    made = compiled(app, schedule, threads, float_mode)
    return made.prepare(inputs_of(app), sizes=sizes_of(app))


@frozen
class Searched:
    """The outcome of a search: the schedule its cost model likes best, and the fastest of its
    finalists.
    """

    first: Schedule
    fastest: Schedule
    report: Mapping[str, Any]


@functools.cache
def searched(
    app: str, cost: str | None = None, strategy: str | None = None, seconds: float | None = None
) -> Searched:
    """Searches the space of an app for this CPU, and times the finalists in turns. The cost model
    and the strategy are the default ones unless they are given.
    """
    pipeline = pipeline_of(app)
    space = ScheduleSpace(pipeline, device("cpu"))
    start = time.perf_counter()
    done = best(search(space, cost, strategy, Limits(top=FINALISTS, seconds=seconds)))
    elapsed = time.perf_counter() - start
    found = [f.schedule for f in done.best]
    runs = {str(i): program(app, schedule) for i, schedule in enumerate(found)}
    timings = interleaved(runs, rounds=11, budget_s=20)
    fastest = min(range(len(found)), key=lambda i: timings[str(i)].median_ms)
    report = {
        "cost": cost or default_model(space.device),
        "strategy": strategy or default_strategy(),
        "structures_scored": done.structures,
        "choices_scored": done.choices,
        "ending": done.ending,
        "search_s": round(elapsed, 2),
        "fastest_rank": fastest + 1,
        "schedule": format_schedule(found[fastest], pipeline),
    }
    return Searched(found[0], found[fastest], report)
