"""``spaces count``: the number of an app's schedules for a device."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from spaces.apps.catalog import find
from spaces.apps.command_line.console import line
from spaces.apps.command_line.options import AppName, Seed
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.progress import Reporter
from spaces.apps.command_line.space import (
    Most,
    SpaceArguments,
)
from spaces.enumerate.space.completing.emptiness import explain_empty
from spaces.enumerate.space.counting.count import Counted
from spaces.enumerate.space.counting.estimate import (
    CountBounds,
    CountEstimate,
    WeightedEstimate,
    about,
)
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.amounts import amount
from spaces.model.deadline import Deadline, OutOfTime

EXACT_UP_TO = 100_000
"""`count` judges all candidates of a space of up to this size; it estimates larger spaces."""

Count: TypeAlias = CountBounds | CountEstimate | WeightedEstimate
"""A number of schedules, as far as it is known."""

SAMPLES = 50
"""Number of candidates that `count` samples to estimate a larger space."""

BOUNDING = 0.1
"""The share of the time limit of `count` in which to count a space that has more than patterns."""

COUNTING = 0.8
"""The share in which to count exactly; if it is too short, the rest is for an estimate."""


@command(
    "count",
    "Count the legal schedules, or estimate their number.",
    "count toy_sum --options small",
    "count unsharp --device sm_80 --seconds 10",
    "count blur --where 'bytes_stored(blur_x) <= 8 * KiB' --leave blur_y",
)
def count(
    app: AppName,
    asked: SpaceArguments,
    seed: Seed = 0,
    seconds: Most = 60.0,
    as_json: AsJson = False,
) -> None:
    """Count the legal schedules. For a large space, estimate their number; where loops are decided
    one by one, say also how many were counted in a tenth of the time.
    """
    counted = find(app)
    space = asked.make_space(counted)
    deadline = Deadline.after(seconds)
    candidates: int | None = None
    if space.only_patterns:
        candidates = _candidates(space, Deadline.after((1 - BOUNDING) * seconds))
        counts = _counts(space, candidates, seed, deadline)
    else:
        counts = _counts_beyond_patterns(space, seed, deadline)
    first = counts[0]
    exact = isinstance(first, CountBounds) and first.is_exact
    if as_json:
        report: dict[str, Any] = {
            "app": app, "device": asked.device, "candidates": candidates, "exact": exact,
        }  # fmt: skip
        report |= _numbers(first)
        if len(counts) > 1:
            report["estimate"] = _numbers(counts[1])
        with any_digits():
            line(json.dumps(report, indent=2))
        return
    if candidates is not None:
        line(f"{about(candidates)} candidates")
    elif space.only_patterns:
        line("The time was too short to count the candidates.")
    if exact:
        line(f"{amount(int(first.low), 'legal schedule')}")
        if not first.low:
            line(str(explain_empty(space, seconds=deadline.left)))
        return
    for found in counts:
        line(f"legal schedules: {found}")
    is_judged = candidates is not None or not space.only_patterns
    if is_judged and all(isinstance(found, CountBounds) for found in counts):
        line("The time was too short to draw a schedule, so there is no estimate.")


def _counts(
    space: ScheduleSpace, candidates: int | None, seed: int, deadline: Deadline
) -> list[Count]:
    """What is known of the number of schedules of a space of patterns alone: exact, or an estimate,
    with certain bounds if the space is small. Only bounds if no schedule was drawn in time.
    """
    if candidates is None:
        return [space.bounds(seconds=deadline.left)]
    if candidates <= EXACT_UP_TO:
        bounds = _bounds(space, candidates, COUNTING * deadline.left)
        return [bounds] if bounds.is_exact else [bounds, *_estimates(space, seed, deadline)]
    return _estimates(space, seed, deadline) or [CountBounds(0, candidates)]


def _counts_beyond_patterns(space: ScheduleSpace, seed: int, deadline: Deadline) -> list[Count]:
    """What is known of the number of schedules of a space that has more than patterns."""
    bounds = _bounds(space, math.inf, BOUNDING * deadline.left)
    return [bounds] if bounds.is_exact else [bounds, *_estimates(space, seed, deadline)]


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
    high = math.inf if isinstance(found, WeightedEstimate) else found.high
    numbers = {"low": math.floor(found.low), "high": None if high == math.inf else math.ceil(high)}
    if not isinstance(found, CountBounds):
        return {"legal": round(found.mean), **numbers}
    return {"legal": found.low, **numbers} if found.is_exact else numbers


def _estimates(space: ScheduleSpace, seed: int, deadline: Deadline) -> list[Count]:
    """An estimate, with progress; none if no schedule was drawn in time."""
    last: list[Count] = []
    seconds = deadline.left
    try:
        with Reporter(seconds) as reporter:
            for found in space.estimating(SAMPLES, seed, seconds=seconds):
                last = [found]
                funnel = {"schedules drawn": found.samples, "legal": found.legal}
                reporter.show("estimating", funnel, step=(found.samples, SAMPLES))
    except TimeoutError:
        return []
    return last


def _candidates(space: ScheduleSpace, deadline: Deadline) -> int | None:
    """The number of candidates; None if counting them takes too long."""
    try:
        with deadline.kept():
            return space.candidates
    except OutOfTime:
        return None


def _bounds(space: ScheduleSpace, candidates: float, seconds: float) -> CountBounds:
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
