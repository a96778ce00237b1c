"""Our search for a GPU against Halide's autoschedulers for GPUs. No kernel runs.

Each contender searches, and its first schedule counts. We read Halide's schedules as schedules of
this library. So one verifier judges all of them, one compiler makes their kernels, and two models
price them: ``occupancy``, the model of our search, and ``roofline``, which no search uses.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bench.against_autoschedulers import FINDING, OURS, Found, chosen_apps
from bench.contenders import pipeline_of
from bench.processes import Contender, ContenderFailed
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.errors import CudaError
from spaces.backend.halide.autoschedule import GPU_AUTOSCHEDULERS, gpu_autoscheduled
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.cost.model import CostModel
from spaces.cost.simple.roofline import Roofline
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule

GPU = "sm_80"
"""The device of all schedules."""

_MULTIPROCESSORS = 108
"""Of an A100, which Halide's autoschedulers ask for."""

JUDGING = 180.0
"""Seconds in which a schedule must be verified, priced and compiled."""

COMPARED = ("cost", "bound")
"""The numbers of a schedule that are compared; less is better. One without a cost has kernels that
the model discards, such as those with partly filled warps.
"""

CONDITIONS = f"""\
Schedules for {GPU}, found and judged on this CPU; no kernel ran. Halide's are read as schedules of
this library, so one verifier judges all and one compiler makes the kernels. Columns *cost* divide
their cost by ours, both by `occupancy`, the model of our search. Columns *bound* do so for the
shortest time by `roofline`, which no search uses. Above 1 ours is better. A schedule that is
illegal breaks the rules in its column. One that is legal and has no cost has partly filled warps. A
search fails after a minute and a half. Columns *spills* have the bytes of registers that a thread
of each kernel spills, added over the kernels."""
"""The conditions of the comparison, printed above its table."""


def measure(
    chosen: Collection[str] = (), earlier: Mapping[str, Found] | None = None
) -> dict[str, Any]:
    """What each contender finds, for each app. Apps outside ``chosen`` keep their ``earlier``
    results.
    """
    apps: dict[str, Found] = {}
    for app in chosen_apps():
        if not chosen or app in chosen:
            apps[app] = dict(_measured(app))
            print(f"  {app}: {apps[app]}", flush=True)
        elif earlier and app in earlier:
            apps[app] = earlier[app]
    return {"device": GPU, "apps": apps, "geometric_means": means(apps)}


def means(apps: Mapping[str, Found]) -> Found:
    """How many times our numbers those of each autoscheduler are, over the apps where both are
    legal.
    """
    result: Found = {}
    for name in GPU_AUTOSCHEDULERS:
        for number in COMPARED:
            ratios = [ratio for found in apps.values() if (ratio := over_ours(found, name, number))]
            if ratios:
                mean = round(statistics.geometric_mean(ratios), 3)
                result[f"{name}, {number}"] = {"apps": len(ratios), "over ours": mean}
    return result


def over_ours(found: Found, name: str, number: str) -> float | None:
    """How many times ours a number of an autoscheduler is; None if one of both is not legal,
    or has no cost.
    """
    numbers = [found.get(one, {}).get(number) for one in (name, OURS)]
    return numbers[0] / numbers[1] if all(numbers) else None


def table(results: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """The headers and the rows of the table."""
    names = (OURS, *GPU_AUTOSCHEDULERS)
    columns = [(name, number) for number in COMPARED for name in GPU_AUTOSCHEDULERS]
    headers = (
        "app",
        *(f"{'our search' if name == OURS else name}, s" for name in names),
        *(f"{number}: {name} / ours" for name, number in columns),
        *(f"spills: {name}" for name in names),
    )
    rows: list[tuple[object, ...]] = []
    for app, found in results["apps"].items():
        seconds = (found[name].get("search_s", "failed") for name in names)
        ratios = (_ratio(found, name, number) for name, number in columns)
        spills = (found[name].get("spilled", "") for name in names)
        rows.append((app, *seconds, *ratios, *spills))
    means = results["geometric_means"]
    averages = (means.get(f"{name}, {number}") for name, number in columns)
    shown = (one and f"{one['over ours']:.2f} of {one['apps']}" for one in averages)
    rows.append(("geometric mean", *("" for _ in names), *shown, *("" for _ in names)))
    return headers, rows


def _ratio(found: Found, name: str, number: str) -> str:
    """A number over ours, or the rules that the schedule breaks."""
    ratio = over_ours(found, name, number)
    return ", ".join(found[name].get("breaks", ())) if ratio is None else f"{ratio:.2f}"


def _measured(app: str) -> Iterator[tuple[str, Found]]:
    for name in (OURS, *GPU_AUTOSCHEDULERS):
        contender = Contender.started(name)
        found: Found = {}
        try:
            seconds, text = contender.ask(_find, app, name, seconds=FINDING)
            found |= {"search_s": round(seconds, 2), "schedule": text}
            found |= contender.ask(_judged, app, text, seconds=JUDGING)
        except ContenderFailed as failed:
            found["failed"] = str(failed)
        contender.end()
        yield name, found


def _find(app: str, name: str) -> tuple[float, str]:
    """The seconds of a search, and the schedule that it finds."""
    pipeline = pipeline_of(app)
    start = time.perf_counter()
    if name == OURS:
        schedule = _searched(pipeline)
        seconds = time.perf_counter() - start
    else:
        found = gpu_autoscheduled(pipeline, name, _MULTIPROCESSORS)
        seconds = time.perf_counter() - start
        schedule = found.schedule
    return seconds, format_schedule(schedule, pipeline)


def _searched(pipeline: Pipeline) -> Schedule:
    return best(search(ScheduleSpace(pipeline, device(GPU)))).best[0].schedule


def _judged(app: str, text: str) -> Found:
    """The rules that a schedule breaks; or its costs, and the resources of its kernels."""
    pipeline = pipeline_of(app)
    schedule = parse_schedule(text, pipeline)
    verdict = verify(pipeline, schedule, device(GPU))
    if not isinstance(verdict, CheckedSchedule):
        return {"breaks": sorted({violation.rule for violation in verdict.violations})}
    batch = Batch.of(pipeline, schedule)
    models: dict[str, CostModel] = {
        "cost": OccupancyModel.of(device(GPU)),
        "bound": Roofline.of(device(GPU)),
    }
    costs = {name: float(model.cost(batch)) for name, model in models.items()}
    finite = {name: cost for name, cost in costs.items() if cost < math.inf}
    return {**finite, **_kernels(verdict)}


def _kernels(verdict: CheckedSchedule) -> Found:
    """How many kernels there are, the most registers of a thread, and the bytes that it spills."""
    compiled = compile_gpu(verdict)
    found: Found = {"kernels": len(compiled.kernels)}
    try:
        resources = compiled.resources().values()
    except CudaError as error:
        return {**found, "compiler": str(error)[:200]}
    return {
        **found,
        "registers": max((one.registers for one in resources), default=0),
        "spilled": sum(one.spill_store_bytes for one in resources),
    }
