"""What our search finds for a GPU against the schedule by hand of each app. No kernel runs.

Each search minimizes one cost model. NVIDIA's compiler ranks its best schedules again, and the
model compares the first of them with the schedule by hand.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Collection, Mapping
from typing import Any

from bench.contenders import pipeline_of, written
from bench.processes import Contender, ContenderFailed
from spaces.apps.catalog import APPS
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.errors import CudaError
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.writing.text import format_schedule, parse_schedule
from spaces.tuning.compiler_ranking import rank_by_compiler

GPU = "sm_90"
"""The device of all schedules."""

MODELS = ("occupancy", "roofline")
"""The cost models that searches minimize."""

SEARCHING = 20.0
"""Seconds of each search."""

FINALISTS = 3
"""The number of schedules of a search that the compiler ranks again."""

RANKING = 60.0
"""Seconds in which it does."""

JUDGING = 120.0
"""Seconds in which a schedule must be priced, and compiled."""

HAND = "hand"

CONDITIONS = f"""\
Schedules for {GPU}, found in {SEARCHING:.0f} seconds with each of two cost models; no kernel ran.
Of the first {FINALISTS} schedules of a search the compiler prefers those that spill nothing.
Columns *cost* divide the cost of what is found by that of the schedule by hand, by the model of the
search: below 1 the search is better. *Registers* are the most of a thread of any kernel. *Spills*
are the bytes that a thread stores because registers are missing, added over the kernels. *Compiles*
are the seconds of NVIDIA's compiler."""
"""The conditions of the comparison, printed above its table."""

Result = dict[str, Any]


def measure(
    chosen: Collection[str] = (), earlier: Mapping[str, Result] | None = None
) -> dict[str, Any]:
    """What each search finds, for each app with a schedule for GPUs by hand. Apps outside
    ``chosen`` keep their ``earlier`` results.
    """
    apps: dict[str, Result] = {}
    for app in (name for name in APPS if "gpu" in APPS[name].schedules):
        if not chosen or app in chosen:
            apps[app] = measured(app)
            print(f"  {app}: {apps[app]}", flush=True)
        elif earlier and app in earlier:
            apps[app] = earlier[app]
    return {"device": GPU, "apps": apps, "geometric_means": means(apps)}


def measured(app: str, target: str = GPU, seconds: float = SEARCHING) -> Result:
    """The schedules of one app with their costs and resources: that by hand, and one a model."""
    by_hand = format_schedule(written(app, "gpu"), pipeline_of(app))
    found: Result = {HAND: _judged(app, target, by_hand)}
    for model in MODELS:
        contender = Contender.started(model)
        try:
            took, text = contender.ask(_find, app, target, model, seconds, seconds=_limit(seconds))
        except ContenderFailed as failed:
            found[model] = {"failed": str(failed)}
        else:
            found[model] = {"search_s": round(took, 1), "schedule": text}
            found[model] |= _judged(app, target, text)
        contender.end()
    return found


def over_hand(found: Result, model: str) -> float | None:
    """How many times the cost of the schedule by hand the cost of what a search finds is; None if
    there is nothing found.
    """
    costs = [found[name].get(model) for name in (model, HAND)]
    if any(cost is None for cost in costs):
        return None
    ours, by_hand = costs
    return float(ours / by_hand)


def means(apps: Mapping[str, Result]) -> Result:
    """The geometric mean of the costs over those of the schedules by hand, and the worst."""
    result: Result = {}
    for model in MODELS:
        ratios = [ratio for found in apps.values() if (ratio := over_hand(found, model))]
        if ratios:
            mean = round(statistics.geometric_mean(ratios), 3)
            result[model] = {"apps": len(ratios), "mean": mean, "worst": round(max(ratios), 3)}
    return result


def table(results: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """The headers and the rows of the table."""
    names = (*MODELS, HAND)
    headers = (
        "app",
        *(f"cost by {model}" for model in MODELS),
        *(f"{what}: {name}" for what in ("registers", "spills", "compiles") for name in names),
    )
    rows: list[tuple[object, ...]] = []
    for app, found in results["apps"].items():
        ratios = (_shown(over_hand(found, model)) for model in MODELS)
        counted = ("registers", "spilled", "compile_s")
        resources = (_counted(found[name], what) for what in counted for name in names)
        rows.append((app, *ratios, *resources))
    averages = (results["geometric_means"].get(model, {}) for model in MODELS)
    shown = (f"{one['mean']:.2f} of {one['apps']}" if one else "" for one in averages)
    rows.append(("geometric mean", *shown, *("" for _ in range(3 * len(names)))))
    return headers, rows


def _limit(seconds: float) -> float:
    """The time in which a search of that many seconds must end, with the compiler."""
    return 6 * seconds + 2 * RANKING


def _shown(ratio: float | None) -> str:
    return "failed" if ratio is None else f"{ratio:.2f}"


def _counted(found: Result, what: str) -> object:
    return found.get(what, found.get("compiler", "failed"))


def _find(app: str, target: str, model: str, seconds: float) -> tuple[float, str]:
    """The seconds of a search, and the schedule that it finds."""
    pipeline = pipeline_of(app)
    space = ScheduleSpace(pipeline, device(target))
    start = time.perf_counter()
    found = best(search(space, model, limits=Limits(top=FINALISTS, seconds=seconds)))
    took = time.perf_counter() - start
    first, *_ = rank_by_compiler(space, found.best, model, seconds=RANKING)
    return took, format_schedule(first.found.schedule, pipeline)


def _judged(app: str, target: str, text: str) -> Result:
    """The costs of a schedule, and the resources of its kernels."""
    contender = Contender.started(app)
    found: Result = {}
    try:
        found |= contender.ask(_priced, app, target, text, seconds=JUDGING)
        found |= contender.ask(_resources, app, target, text, seconds=JUDGING)
    except ContenderFailed as failed:
        found["compiler"] = str(failed)
    contender.end()
    return found


def _priced(app: str, target: str, text: str) -> Result:
    pipeline = pipeline_of(app)
    batch = Batch.of(pipeline, parse_schedule(text, pipeline))
    return {model: float(cost_model(model, device(target)).cost(batch)) for model in MODELS}


def _resources(app: str, target: str, text: str) -> Result:
    """The kernels, the most registers of a thread, the bytes that it spills, and the seconds of the
    compiler.
    """
    pipeline = pipeline_of(app)
    verdict = verify(pipeline, parse_schedule(text, pipeline), device(target))
    if not isinstance(verdict, CheckedSchedule):
        return {"compiler": ", ".join(sorted({one.rule for one in verdict.violations}))}
    compiled = compile_gpu(verdict)
    start = time.perf_counter()
    try:
        resources = compiled.resources().values()
    except CudaError as error:
        return {"compiler": str(error)[:200]}
    return {
        "kernels": len(compiled.kernels),
        "registers": max((one.registers for one in resources), default=0),
        "spilled": sum(one.spill_store_bytes for one in resources),
        "compile_s": round(time.perf_counter() - start, 1),
    }
