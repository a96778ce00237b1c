"""Schedules of a space as numbers, for optimizers that know nothing of schedules."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise, repeat

from spaces.enumerate.space.finding import way_to
from spaces.enumerate.space.process.decision import DecisionOption, DecisionPoint
from spaces.enumerate.space.space import Space
from spaces.model.schedules.schedule import Schedule


def encode_schedule(space: Space, schedule: Schedule) -> tuple[float, ...]:
    """A number between 0 and 1 for each decision on the way to a schedule. Equal parts of the
    interval belong to all options; the number is the middle of the part of the option taken.

    Raises:
        ValueError: the space has no such schedule.
    """
    numbers = []
    for partial, after in pairwise(way_to(space, schedule)):
        labels = [option.label for option in partial.options]
        numbers.append((labels.index(after.taken[-1]) + 0.5) / len(labels))
    return tuple(numbers)


def decode_schedule(space: Space, numbers: Iterable[float]) -> Schedule:
    """The schedule whose decisions these numbers make, legal or not.

    Each number from 0 to 1 chooses an option. Numbers that are left over are ignored, and missing
    ones are 0.

    Raises:
        ValueError: a number is not between 0 and 1.
    """
    rest = chain(numbers, repeat(0.0))

    def choose(decision: DecisionPoint) -> DecisionOption:
        number = next(rest)
        if not 0 <= number <= 1:
            raise ValueError(
                f"{number} does not choose an option of decision {decision.name!r}: give numbers "
                "from 0 to 1."
            )
        count = len(decision.options)
        return decision.options[min(int(number * count), count - 1)]

    return space.start().completed(choose).schedule
