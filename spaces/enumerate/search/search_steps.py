"""The steps that searches of single schedules have in common: first schedules, then one by one."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from attrs import evolve

from spaces.enumerate.search.companions import choose_companions
from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.first_schedules import offer_incumbents, offer_schedule
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.counting.draws import sample
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import OutOfTime

PART = 50
"""Schedules, or slices of work, between two events of progress."""

FINDING = 20.0
"""The most seconds to look for a first schedule where no simple one is legal."""


_LEAST_GAIN = 0.01
"""By which share of its cost a schedule must become cheaper: models are not exact enough to tell
smaller differences.
"""


def offer_first(pricer: Pricer) -> Iterator[Event]:
    """Offers the first schedules, and a random one if none of them is legal."""
    yield from offer_incumbents(pricer)
    yield from offer_draw_if_none(pricer)


def offer_draw_if_none(pricer: Pricer) -> Iterator[Event]:
    """Offers a random schedule if the board has none and there is time to find one."""
    board = pricer.board
    if board.has_schedule:
        return
    try:
        with board.deadline.kept():
            (schedule,) = sample(pricer.space, 1, board.limits.seed, seconds=FINDING)
    except (OutOfTime, TimeoutError, EmptySpaceError):
        return
    yield from offer_schedule(pricer, schedule)


def offer_cheapest(pricer: Pricer, structure: Structure) -> Generator[Event, None, Found | None]:
    """Offers the cheapest legal choice of a structure, and returns it; None if no choice is legal.

    Raises:
        OutOfTime: as many structures as the limits allow have a cost.
    """
    found = pricer.find_cheapest(structure)
    if found is not None:
        yield from pricer.board.offer(found)
    return found


def conclude_search(
    pricer: Pricer, events: Iterator[Event], *, tries_changes: bool = False
) -> Iterator[Event]:
    """The events of a search up to the end of its time or of its structures, and then the last
    ones, with the best that the board has and its companions. A search that ``tries_changes`` of
    its best schedule has tried all that it tries if its events end by themselves.
    """
    board, complete = pricer.board, True
    try:
        yield from board.deadline.each(events)
    except OutOfTime:
        complete = False
    choose_companions(pricer)
    yield board.scored
    yield evolve(board.done(pricer.space, complete), tried_changes=complete and tries_changes)


def is_clearly_cheaper(cost: float, least: float) -> bool:
    """Whether a schedule costs so much less than the best one that it is worth a change."""
    return least - cost >= _LEAST_GAIN * abs(least) and cost < least
