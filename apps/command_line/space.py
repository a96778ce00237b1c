"""``spaces enumerate``, ``count`` and ``search``: the space of an app's schedules for a device."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from apps.app import App
from apps.catalog import find
from apps.command_line.collected import Collected
from apps.command_line.console import complain, line, progress, table
from apps.command_line.options import AppName, DeviceName, Seed, find_device
from apps.command_line.program import AsJson, command
from apps.errors import CommandError, Interrupted, WrongUsage
from apps.loading import brief, is_function_name, load_function
from spaces.constraints.devices.device import GpuDevice
from spaces.cost.batch import Batch, BatchError
from spaces.cost.model import CostFunction
from spaces.cost.registry import cost_model
from spaces.enumerate.board import Limits
from spaces.enumerate.emptiness import explain_empty
from spaces.enumerate.events import Done, Event, Expanded, Found, Improved, Scored
from spaces.enumerate.options import Options
from spaces.enumerate.space import NOTHING_FIXED, EmptySpaceError, ScheduleSpace
from spaces.enumerate.strategies import UnknownStrategyError
from spaces.enumerate.strategies import search as search_space
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

EXACT_UP_TO = 100_000
"""`count` judges all candidates of a space of up to this size; it estimates larger spaces."""

SAMPLES = 50
"""Number of candidates that `count` samples to estimate a larger space."""

Limit = Annotated[
    int, typer.Option("--limit", min=0, help="Print at most this many schedules; 0 prints all.")
]
Cost = Annotated[
    str,
    typer.Option(
        "--cost",
        help="A cost model, or file.py:function that takes a batch.",
        show_default="reuse on a CPU, occupancy on a GPU",
    ),
]
StrategyName = Annotated[str, typer.Option("--strategy", help="A search strategy.")]
Top = Annotated[int, typer.Option("--top", min=1, help="Find this many schedules.")]


class Preset(StrEnum):
    """The presets of options, by name."""

    SMALL = "small"
    EXPERT = "expert"
    EVERYTHING = "everything"


OptionsName = Annotated[
    Preset, typer.Option("--options", help="What the space contains: a preset of options.")
]
Seconds = Annotated[
    float | None,
    typer.Option("--seconds", min=0, help="Stop after this time with the best so far."),
]


@command(
    "enumerate",
    "Print legal schedules, always in the same order.",
    "enumerate blur --limit 3",
    "enumerate toy_sum --device sm_80 --limit 0 --json",
)
def enumerate_schedules(
    app: AppName,
    device: DeviceName = "cpu",
    options: OptionsName = Preset.SMALL,
    limit: Limit = 10,
    as_json: AsJson = False,
) -> None:
    """Print legal schedules, always in the same order."""
    space = space_of(find(app), device, options)
    found = Collected(_text(s, space.pipeline) for s in itertools.islice(space, limit or None))
    if as_json:
        texts = list(found)
        report = {"app": app, "device": device, "interrupted": found.interrupted}
        line(json.dumps(report | {"schedules": texts}, indent=2))
        found.stop()
        return
    number = 0
    for number, text in enumerate(found, start=1):
        line(f"# {number}\n{text}")
    found.stop()
    if not number:
        raise CommandError(str(explain_empty(space)))
    if limit:
        complain(f"Printed {number} schedules; there may be more: see --limit.")


@command(
    "count",
    "Count the legal schedules, or estimate their number.",
    "count toy_sum",
    "count unsharp --device sm_80",
)
def count(app: AppName, device: DeviceName = "cpu", as_json: AsJson = False) -> None:
    """Count the legal schedules; estimate their number in a large space."""
    space = space_of(find(app), device)
    exact = space.candidates <= EXACT_UP_TO
    if as_json:
        legal, error = (space.count(), 0.0) if exact else space.estimate(SAMPLES)
        number = {
            "candidates": space.candidates,
            "exact": exact,
            "legal": round(legal),
            "error": round(error),
        }
        line(json.dumps({"app": app, "device": device, **number}, indent=2))
        return
    line(f"{_about(space.candidates)} candidates")
    if exact:
        legal = space.count()
        line(f"{legal:,} legal schedules")
        if not legal:
            line(str(explain_empty(space)))
    else:
        about, error = space.estimate(SAMPLES)
        shown = f"about {_about(about)} legal schedules ± {_about(error)}"
        line(f"{shown} (standard error, {SAMPLES} samples)")


@command(
    "search",
    "Search for the cheapest schedules.",
    "search harris --top 3 --seconds 10",
    "search blur --device sm_80 --cost occupancy --strategy beam",
    "search toy_sum --cost my_model.py:price --strategy exhaustive",
)
def search(
    app: AppName,
    device: DeviceName = "cpu",
    cost: Cost = "",
    strategy: StrategyName = "stagewise",
    seed: Seed = 0,
    top: Top = 5,
    seconds: Seconds = None,
    as_json: AsJson = False,
) -> None:
    """Search for the cheapest schedules."""
    space = space_of(find(app), device)
    cost = cost or ("occupancy" if isinstance(space.device, GpuDevice) else "reuse")
    model: str | CostFunction = _own_model(cost) if is_function_name(cost) else cost
    limits = Limits(top=top, seconds=seconds, seed=seed)
    try:
        chosen = cost_model(model, space.device)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    try:
        events = Collected(search_space(space, chosen, strategy, limits))
        done = follow(events)
    except UnknownStrategyError as error:
        raise WrongUsage(str(error)) from None
    except BatchError as error:
        raise CommandError(str(error)) from None
    except EmptySpaceError as error:
        raise CommandError(f"{error}\n{explain_empty(space)}") from None
    if as_json:
        found = [{"cost": f.cost, "schedule": _text(f.schedule, space.pipeline)} for f in done.best]
        report = {
            "app": app, "device": device, "cost": cost, "strategy": strategy, "seed": seed,
            "structures": done.structures, "choices": done.choices, "complete": done.complete,
            "interrupted": events.interrupted, "schedules": found,
        }  # fmt: skip
        line(json.dumps(report, indent=2))
    else:
        show_found(done, space.pipeline)
    events.stop()


def _own_model(name: str) -> CostFunction:
    """The user's function called ``name``; its errors become a sentence that names it."""
    function = load_function(name)

    def cost(batch: Batch) -> NDArray[np.float64]:
        try:
            return batch.full(function(batch))
        except BatchError as error:
            raise CommandError(f"{name}: {error}") from None
        except Exception as error:
            raise CommandError(f"{name} failed: {brief(error)}") from error

    return cost


def follow(events: Iterable[Event]) -> Done:
    """Watches a search, with a progress bar on a terminal. Returns its last event; after Ctrl-C,
    the best schedule until then.

    Raises:
        Interrupted: Ctrl-C came before the first schedule.
    """
    best, scored = "", Scored(0, 0)
    found: Found | None = None
    with progress() as bars:
        task = bars.add_task("searching", total=None, status="")
        for event in events:
            match event:
                case Expanded():
                    total = event.steps or None
                    bars.update(task, completed=event.step, total=total, description=event.what)
                case Improved(best=found):
                    best = f"best {found.cost:.4g}"
                    bars.update(task, status=best)
                case Scored():
                    scored = event
                case Done():
                    return event
    if not (isinstance(events, Collected) and events.interrupted):
        raise CommandError("The search ended without a result; a strategy ends with Done.")
    if found is None:
        raise Interrupted
    return Done((found,), scored.structures, scored.choices, complete=False)


def show_found(done: Done, pipeline: Pipeline) -> None:
    """Prints the result of a search, best first."""
    ending = "" if done.complete else ", stopped before its end"
    line(f"{done.structures:,} structures, {done.choices:,} choices of tile sizes scored{ending}")
    show_ranking(done, pipeline)


def show_ranking(done: Done, pipeline: Pipeline) -> None:
    """Prints the schedules that a search found, as a table, best first."""
    rows = [
        (rank, found.cost, _text(found.schedule, pipeline))
        for rank, found in enumerate(done.best, start=1)
    ]
    table(("rank", "cost", "schedule"), rows)


def space_of(
    app: App, device: str, preset: Preset = Preset.SMALL, fixed: Schedule = NOTHING_FIXED
) -> ScheduleSpace:
    """The space of an app's schedules that keep the Funcs of ``fixed``.

    Raises:
        WrongUsage: the pipeline has no estimates, or no device has this name.
        CommandError: no schedule can meet the estimates.
        ValueError: ``fixed`` does not fit the pipeline.
    """
    pipeline = app.pipeline()
    if any(pipeline.estimate(name) is None for name in pipeline.outputs):
        raise WrongUsage(
            f"A space needs estimates of the outputs, and pipeline {pipeline.name} has none: "
            "give pipeline(..., estimates={output: [width, height]})."
        )
    target = find_device(device)
    try:
        return ScheduleSpace(pipeline, target, getattr(Options, preset)(target), fixed)
    except EmptySpaceError as error:
        raise CommandError(str(error)) from None


def _text(schedule: Schedule, pipeline: Pipeline) -> str:
    return format_schedule(schedule, pipeline)


def _about(count: float) -> str:
    return f"{count:,.0f}" if count < 1e6 else f"{count:.3g}"
