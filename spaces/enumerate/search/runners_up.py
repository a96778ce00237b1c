"""The schedules after the first one, for searches whose own path leads to a single schedule.

The path of a search does not depend on how many schedules are asked for: the first of five is the
first of one. So such a search fills the other places at its end, with neighbors of the schedule
that it found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice, zip_longest

from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.neighbours.changes import ChangedSchedule, PlacedSchedule
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import OutOfTime
from spaces.model.schedules.schedule import Schedule

NEIGHBORS = 8
"""How many neighbors a search looks at for each place."""

NUMBERS = 64
"""How many choices of numbers it tries with a neighbor, at most."""


def runners_up(pricer: Pricer) -> Iterator[Event]:
    """Offers neighbors of the best schedule, as long as there is time. One that is cheaper than the
    best schedule is left out: a search for one schedule alone would not have seen it.
    """
    board = pricer.board
    places = board.limits.top - 1
    if not (places and board.best):
        return
    first = board.best[0]
    try:
        for found in board.deadline.each(_neighbors(pricer, NEIGHBORS * places)):
            if found.cost >= first.cost:
                yield from board.offer(found)
    except OutOfTime:
        pass
    yield board.scored


def _neighbors(pricer: Pricer, most: int) -> Iterator[Found]:
    """The cheapest legal choices of structures one decision away from the best schedule."""
    board = pricer.board
    place = _place(pricer.space, board.best[0].schedule)
    for structure in () if place is None else islice(_structures(place, board.limits.seed), most):
        found = pricer.cheapest(structure)
        if found is not None:
            yield found


def _place(space: ScheduleSpace, schedule: Schedule) -> PlacedSchedule | None:
    """The decisions of a schedule: among whole patterns if possible, which are fewer; None if the
    space has no such schedule.
    """
    for part in (space.of_patterns, space):
        try:
            return PlacedSchedule.of(part, schedule)
        except ValueError:
            continue
    return None


def _structures(place: PlacedSchedule, seed: int) -> Iterator[Structure]:
    """Structures with another option of one decision, the next option of each decision in turn:
    those about the Funcs decided last come first.
    """
    chosen = random.Random(seed)
    numbers = [n for n, one in enumerate(place.way[:-1]) if not one.state.has_structure]
    others = (place.others(number) for number in reversed(numbers))
    for turn in zip_longest(*others):
        for way, func in filter(None, turn):
            yield ChangedSchedule.along(way, func, chosen, NUMBERS).structure
