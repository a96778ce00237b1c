"""The schedules after the first one, for searches whose own path leads to a single schedule.

The path of a search does not depend on how many schedules are asked for: the first of five is the
first of one. So such a search fills the other places at its end, with what it has seen and with
neighbors of the schedule that it found.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from spaces.cost.model import UncertainModel
from spaces.enumerate.search.companions import WORTH, choose_companions
from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.structure_distance import strip_factors
from spaces.enumerate.space.edits import DecidedSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import OutOfTime
from spaces.model.schedules.schedule import Schedule

T = TypeVar("T")

NEIGHBORS = 8
"""How many neighbors a search looks at for each place."""

NUMBERS = 64
"""How many choices of numbers it tries with a neighbor, at most."""


def offer_runners_up(pricer: Pricer) -> Iterator[Event]:
    """Offers neighbors of the best schedule, as long as there is time, and chooses which schedules
    stay beside the best one (:func:`choose_companions`). A neighbor that is cheaper than the best
    schedule is left out: a search for one schedule alone would not have seen it.
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
    choose_companions(pricer)
    yield board.scored


def _neighbors(pricer: Pricer, most: int) -> Iterator[Found]:
    """The cheapest legal choices of structures one decision away from the best schedule."""
    board = pricer.board
    first = board.best[0]
    worth = WORTH * first.cost if isinstance(pricer.model, UncertainModel) else 0.0
    decided = _decide(pricer.space, first.schedule)
    edited = () if decided is None else _edit_in_turns(decided, board.limits.seed)
    for structure in islice(edited, most):
        found = pricer.find_cheapest_below(structure, max(board.worst, worth))
        if found is not None:
            yield found


def _decide(space: ScheduleSpace, schedule: Schedule) -> DecidedSchedule | None:
    """The decisions of a schedule: among whole patterns if possible, which are fewer, with the
    nearest numbers of their menus. None if the space has no such schedule.
    """
    if space.has_patterns:
        near = DecidedSchedule.near(space.of_patterns, schedule)
        if strip_factors(near.schedule) == strip_factors(schedule):
            return near
    try:
        return DecidedSchedule.of(space, schedule)
    except ValueError:
        return None


def _edit_in_turns(decided: DecidedSchedule, seed: int) -> Iterator[Structure]:
    """Structures with another option of one decision, the next option of each decision in turn:
    those about the Funcs decided last come first.
    """
    chosen = random.Random(seed)
    numbers = [n for n, one in enumerate(decided.way[:-1]) if not one.state.has_structure]
    edits = (decided.edits_of(number) for number in reversed(numbers))
    for edit in _in_turns(edits):
        yield edit.open_numbers(chosen, NUMBERS)


def _in_turns(sources: Iterable[Iterator[T]]) -> Iterator[T]:
    """The next item of each source in turn; each is made only when its turn comes."""
    waiting = list(sources)
    while waiting:
        left = []
        for source in waiting:
            for item in islice(source, 1):
                left.append(source)
                yield item
        waiting = left
