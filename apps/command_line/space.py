"""``spaces count`` and ``search``: the space of an app's schedules for a device."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from apps.app import App
from apps.catalog import find
from apps.command_line.collected import Collected
from apps.command_line.console import line, table
from apps.command_line.further_sizes import parse_sizes
from apps.command_line.options import AppName, DeviceName, Seed, find_device
from apps.command_line.program import AsJson, command
from apps.command_line.progress import Reporter
from apps.errors import CommandError, Interrupted, WrongUsage
from apps.loading import brief, is_function_name, load_function
from spaces.constraints.devices.device import GpuDevice
from spaces.cost.batch import Batch, BatchError
from spaces.cost.model import CostFunction
from spaces.cost.registry import cost_model
from spaces.enumerate.board import Limits
from spaces.enumerate.emptiness import explain_empty
from spaces.enumerate.empty_space import EmptySpaceError
from spaces.enumerate.estimate import CountBounds, CountEstimate, WeightedEstimate, about
from spaces.enumerate.events import Counted, Done, Event, Expanded, Found, Improved, Scored
from spaces.enumerate.options import Options
from spaces.enumerate.restrictions.text import parse_restriction
from spaces.enumerate.space import NOTHING_FIXED, ScheduleSpace
from spaces.enumerate.strategies import UnknownStrategyError, default_strategy
from spaces.enumerate.strategies import search as search_space
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

EXACT_UP_TO = 100_000
"""`count` judges all candidates of a space of up to this size; it estimates larger spaces."""

Count: TypeAlias = CountBounds | CountEstimate | WeightedEstimate
"""A number of schedules, as far as it is known."""

SAMPLES = 50
"""Number of candidates that `count` samples to estimate a larger space."""

BOUNDING = 0.1
"""The share of the time limit of `count` in which to find bounds of the number, if the space is too
large for an exact count.
"""

COUNTING = 0.8
"""The share in which to count exactly; if it is too short, the rest is for an estimate."""

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
StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy",
        help="A search strategy.",
        show_default="stagewise; annealing where loops are decided one by one",
    ),
]
Top = Annotated[int, typer.Option("--top", min=1, help="Find this many schedules.")]


class Preset(StrEnum):
    """The presets of options, by name."""

    SMALL = "small"
    EXPERT = "expert"
    EVERYTHING = "everything"


OptionsName = Annotated[
    Preset, typer.Option("--options", help="What the space contains: a preset of options.")
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only schedules with this condition on features, such as "
        "'bytes_stored(blur_x) <= 8 * KiB'. May be given several times.",
    ),
]
Leave = Annotated[
    list[str] | None,
    typer.Option(
        "--leave",
        metavar="FUNC",
        help="Leave this Func as it is in the default schedule. May be given several times.",
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="SIZE",
        help="Only schedules that are legal at this size of the output, too, such as 640x480. May "
        "be given several times.",
    ),
]
Apart = Annotated[
    int,
    typer.Option(
        "--apart",
        min=1,
        help="Any two of them differ in this many decisions, split factors aside.",
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option("--seconds", min=0, help="Stop after this time with the best so far."),
]


Most = Annotated[
    float, typer.Option("--seconds", min=0, help="Give up, or estimate, after this time.")
]


@command(
    "count",
    "Count the legal schedules, or estimate their number.",
    "count toy_sum --options small",
    "count unsharp --device sm_80 --seconds 10",
    "count blur --where 'bytes_stored(blur_x) <= 8 * KiB' --leave blur_y",
)
def count(
    app: AppName,
    device: DeviceName = "cpu",
    options: OptionsName = Preset.EXPERT,
    where: Where = None,
    leave: Leave = None,
    size: Sizes = None,
    seed: Seed = 0,
    seconds: Most = 60.0,
    as_json: AsJson = False,
) -> None:
    """Count the legal schedules. For a large space, estimate their number, and give bounds, too, if
    loops are decided one by one.
    """
    space = space_of(find(app), device, options, where=where, leave=leave, sizes=size)
    deadline = Deadline.after(seconds)
    candidates = _candidates(space, Deadline.after((1 - BOUNDING) * seconds))
    counts = _counts(space, candidates, seed, deadline)
    first = counts[0]
    exact = isinstance(first, CountBounds) and first.is_exact
    if as_json:
        report: dict[str, Any] = {
            "app": app, "device": device, "candidates": candidates, "exact": exact,
        }  # fmt: skip
        report |= _numbers(first)
        if len(counts) > 1:
            report["estimate"] = _numbers(counts[1])
        with any_digits():
            line(json.dumps(report, indent=2))
        return
    if candidates is None:
        line("The time was too short to count the candidates.")
    else:
        line(f"{about(candidates)} candidates")
    if exact:
        line(f"{first.low:,} legal schedules")
        if not first.low:
            line(str(explain_empty(space, seconds=deadline.left)))
        return
    for found in counts:
        line(f"legal schedules: {found}")
    if candidates is not None and all(isinstance(found, CountBounds) for found in counts):
        line("The time was too short to draw a schedule, so there is no estimate.")


def _counts(
    space: ScheduleSpace, candidates: int | None, seed: int, deadline: Deadline
) -> list[Count]:
    """What is known of the number of schedules: exact, or certain bounds and an estimate, unless
    no schedule was drawn in time.
    """
    if candidates is None:
        return [space.bounds(seconds=deadline.left)]
    is_small = candidates <= EXACT_UP_TO
    bounds = CountBounds(0, candidates)
    if is_small or not space.only_patterns:
        share = COUNTING if is_small else BOUNDING
        bounds = _bounds(space, candidates, share * deadline.left)
        if bounds.is_exact:
            return [bounds]
    try:
        estimate = _estimated(space, seed, deadline.left)
    except TimeoutError:
        return [bounds]
    return [bounds, estimate] if is_small or not space.only_patterns else [estimate]


@contextmanager
def any_digits() -> Iterator[None]:
    """Lets Python write integers of any length: numbers of candidates have thousands of digits.
    Python limits them to end quickly for texts from outside, which the command line reads, too.
    """
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(most)


def _numbers(found: Count) -> dict[str, Any]:
    """The numbers of a count; ``legal`` only if it is known or estimated."""
    high = None if found.high == math.inf else math.ceil(found.high)
    numbers = {"low": math.floor(found.low), "high": high}
    if not isinstance(found, CountBounds):
        return {"legal": round(found.mean), **numbers}
    return {"legal": found.low, **numbers} if found.is_exact else numbers


def _estimated(space: ScheduleSpace, seed: int, seconds: float) -> Count:
    """An estimate, with progress."""
    found: CountEstimate | WeightedEstimate
    with Reporter(seconds) as reporter:
        for found in space.estimating(SAMPLES, seed, seconds=seconds):
            funnel = {"schedules drawn": found.samples, "legal": found.legal}
            reporter.show("estimating", funnel, step=(found.samples, SAMPLES))
    return found


def _candidates(space: ScheduleSpace, deadline: Deadline) -> int | None:
    """The number of candidates; None if counting them takes too long."""
    try:
        with deadline.kept():
            return space.candidates
    except OutOfTime:
        return None


def _bounds(space: ScheduleSpace, candidates: int, seconds: float) -> CountBounds:
    """The exact count, or bounds of it if the time is too short, with progress."""
    last = Counted()
    try:
        with Reporter(seconds) as reporter:
            for last in space.counting(seconds=seconds):
                funnel = {"choices considered": last.considered, "legal": last.legal}
                reporter.show(f"counting structure {last.structures:,}", funnel)
    except TimeoutError:
        return CountBounds(last.legal, candidates - (last.considered - last.legal))
    return CountBounds(last.legal, last.legal)


@command(
    "search",
    "Search for the cheapest schedules.",
    "search harris --top 3 --seconds 10",
    "search blur --device sm_80 --cost occupancy --strategy beam",
    "search toy_sum --cost my_model.py:price --strategy exhaustive",
    "search sgemm --options everything --seconds 30",
)
def search(
    app: AppName,
    device: DeviceName = "cpu",
    options: OptionsName = Preset.EXPERT,
    where: Where = None,
    leave: Leave = None,
    size: Sizes = None,
    cost: Cost = "",
    strategy: StrategyName = "",
    seed: Seed = 0,
    top: Top = 5,
    apart: Apart = 1,
    seconds: Seconds = None,
    as_json: AsJson = False,
) -> None:
    """Search for the cheapest schedules."""
    space = space_of(find(app), device, options, where=where, leave=leave, sizes=size)
    strategy = strategy or default_strategy(space)
    cost = cost or ("occupancy" if isinstance(space.device, GpuDevice) else "reuse")
    model: str | CostFunction = _own_model(cost) if is_function_name(cost) else cost
    limits = Limits(top=top, apart=apart, seconds=seconds, seed=seed)
    try:
        chosen = cost_model(model, space.device)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    try:
        events = Collected(search_space(space, chosen, strategy, limits))
        done = follow(events, seconds)
    except UnknownStrategyError as error:
        raise WrongUsage(str(error)) from None
    except BatchError as error:
        raise CommandError(str(error)) from None
    except EmptySpaceError as error:
        why = "" if seconds is not None else f"\n{explain_empty(space)}"
        raise CommandError(f"{error}{why}") from None
    except ValueError as error:
        if space.decides_loops and strategy != "annealing":
            raise WrongUsage(f"Strategy {strategy}: {error}") from None
        raise
    if as_json:
        found = [
            {"cost": _json_cost(f.cost), "schedule": _text(f.schedule, space.pipeline)}
            for f in done.best
        ]
        report = {
            "app": app, "device": device, "cost": cost, "strategy": strategy, "seed": seed,
            "structures": done.structures, "choices": done.choices, "complete": done.complete,
            "interrupted": events.interrupted, "schedules": found,
        }  # fmt: skip
        line(json.dumps(report, indent=2))
    else:
        show_found(done, space.pipeline)
    events.stop()


def _json_cost(cost: float) -> float | None:
    """JSON has no infinity: null for a schedule without a cost."""
    return cost if math.isfinite(cost) else None


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


def follow(events: Iterable[Event], seconds: float | None = None) -> Done:
    """Watches a search with this time limit and shows its progress. Returns its last event; after
    Ctrl-C, the best schedule until then.

    Raises:
        Interrupted: Ctrl-C came before the first schedule.
    """
    scored, step = Scored(0, 0), Expanded(0, 0, "searching")
    found: Found | None = None
    with Reporter(seconds) as reporter:
        for event in events:
            match event:
                case Expanded():
                    step = event
                case Improved(best=found):
                    pass
                case Scored():
                    scored = event
                case Done():
                    return event
            funnel = {
                "structures considered": scored.considered,
                "legal": scored.legal,
                "scored": scored.structures,
            }
            if scored.pruned:
                funnel["pruned"] = scored.pruned
            best = "" if found is None else f"best {_cost(found)}"
            reporter.show(step.what, funnel, step=(step.step, step.steps), best=best)
    if not (isinstance(events, Collected) and events.interrupted):
        raise CommandError("The search ended without a result; a strategy ends with Done.")
    if found is None:
        raise Interrupted
    return Done((found,), scored.structures, scored.choices, complete=False)


def _cost(found: Found) -> str:
    return f"{found.cost:.4g}" if math.isfinite(found.cost) else "not priced in time"


def show_found(done: Done, pipeline: Pipeline) -> None:
    """Prints the result of a search, best first."""
    ending = "" if done.complete else ", stopped before its end"
    line(f"{done.structures:,} structures, {done.choices:,} choices of tile sizes scored{ending}")
    show_ranking(done, pipeline)


def show_ranking(done: Done, pipeline: Pipeline) -> None:
    """Prints the schedules that a search found, as a table, best first."""
    rows = [
        (
            rank,
            found.cost if math.isfinite(found.cost) else _cost(found),
            _text(found.schedule, pipeline),
        )
        for rank, found in enumerate(done.best, start=1)
    ]
    table(("rank", "cost", "schedule"), rows)


def space_of(
    app: App,
    device: str,
    preset: Preset = Preset.SMALL,
    fixed: Schedule = NOTHING_FIXED,
    where: Iterable[str] | None = None,
    leave: Iterable[str] | None = None,
    sizes: Iterable[str] | None = None,
) -> ScheduleSpace:
    """The space of an app's schedules that keep the Funcs of ``fixed`` and the default entries of
    the Funcs in ``leave``, satisfy the conditions in ``where``, and are legal at further sizes.

    Raises:
        WrongUsage: the pipeline has no estimates, no device has this name, ``fixed`` does not fit
            the pipeline, or a condition, a Func to leave or a size makes no sense.
        CommandError: no schedule can meet the estimates.
    """
    pipeline, target = app.pipeline(), find_device(device)
    chosen = getattr(Options, preset)(target)
    try:
        conditions = [parse_restriction(text) for text in where or ()]
        further = parse_sizes(sizes or (), pipeline)
        return ScheduleSpace(
            pipeline, target, chosen, fixed, tuple(leave or ()), conditions, further
        )
    except EmptySpaceError as error:
        raise CommandError(str(error)) from None
    except ValueError as error:
        raise WrongUsage(str(error)) from None


def _text(schedule: Schedule, pipeline: Pipeline) -> str:
    return format_schedule(schedule, pipeline)
