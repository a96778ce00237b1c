"""The schedules that a study begins with, and what its key says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spaces.cost.cpu.reuse import Reuse
from spaces.cost.model import CostModel
from spaces.enumerate.search.first_schedules import UNIFORM_CHOICES, fill_schedule
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.trial import Trial

FAST = 0.5
"""A trial that takes less than this part of the time of the reference stands in for it in later
runs, once it has so many runs that this is sure.
"""


def each_once(schedules: Iterable[Schedule]) -> Iterator[Schedule]:
    """Schedules without repetitions, as they come."""
    seen: set[Schedule] = set()
    for schedule in schedules:
        if schedule not in seen:
            seen.add(schedule)
            yield schedule


def find_trusted_schedule(space: ScheduleSpace) -> Schedule:
    """The first legal one of a fixed list of simple schedules. All others must give its results.

    Raises:
        EmptySpaceError: none is legal.
    """
    for choice in UNIFORM_CHOICES:
        schedule = fill_schedule(space.of_patterns.start(), {}, choice)
        if space.verdict(schedule):
            return schedule
    raise EmptySpaceError(
        f"No simple schedule of {space.pipeline.name} is legal on {space.device.name}, so there is "
        "none to compare others with; give the study a reference."
    )


def prices_text(model: CostModel) -> str:
    """A text that is equal for equal prices of a model, and equal terms that it leaves out; empty
    for a model without prices.
    """
    if not isinstance(model, Reuse):
        return ""
    return str(model.prices) + "".join(f", without {term}" for term in sorted(model.left_out))


def may_stand_in(trial: Trial) -> bool:
    """Whether a trial is so fast that others are timed beside it from now on."""
    result = trial.result
    return result is not None and len(result.ratios) >= 6 and result.interval[1] < FAST


def check_start(space: ScheduleSpace, schedule: Schedule) -> None:
    """Raises:
    ValueError: a schedule that a study begins with is illegal.
    """
    verdict = space.verdict(schedule)
    if not verdict:
        raise ValueError(f"A schedule to start with is illegal.\n{verdict}")
