"""Simulated annealing over single decisions, also in spaces that decide loop by loop."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.board import Board, Limits
from spaces.enumerate.changes import PlacedSchedule
from spaces.enumerate.empty_space import EmptySpaceError
from spaces.enumerate.events import Event, Expanded
from spaces.enumerate.exhaustive import cheapest
from spaces.enumerate.ladder import incumbents, offered
from spaces.enumerate.space import ScheduleSpace
from spaces.enumerate.stagewise import Stagewise
from spaces.model.deadline import OutOfTime
from spaces.model.schedules.schedule import Schedule

PART = 50
"""Steps between two events of progress."""

OPENING = 0.5
"""The share of the time limit for the search before the first change."""

FINDING = 20.0
"""The most seconds to look for a first schedule where no simple one is legal."""


@frozen(kw_only=True)
class Annealing:
    """Changes one random decision at a time, and keeps what is cheaper, or not much dearer. With
    each change it tries numbers for some random parameters at once, and takes the cheapest legal
    ones.

    The search starts at ``start``, such as a schedule by hand, or at the best that ``opening``
    finds with whole patterns (:meth:`Options.small`, if the space decides loop by loop) in its
    share of the time, or at the cheapest schedule of a ladder of simple ones. A schedule that costs
    ``r`` times as much as the current one takes its place with a chance of ``r ** (-1 / heat)``;
    the heat falls evenly to 0 over the steps. Other decisions stay as they are, as far as their
    options are still there.

    It is for ``Options.expert`` and ``Options.everything``. It skips no dominated option; its
    ``opening`` skips what :class:`Stagewise` skips.

    Attributes:
        start: a legal schedule of the space to start at.
        opening: the search of whole patterns before the first change; None for the ladder.
        steps: the number of random changes.
        numbers: how many choices of parameters are tried with a change, at most.
        heat: the heat at the first step: at 0.3 twice the cost is taken one time in ten.
    """

    start: Schedule | None = None
    opening: Stagewise | None = None
    steps: int = 1000
    numbers: int = 64
    heat: float = 0.3

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        board = Board(limits)
        if self.start is not None:
            yield from offered(space, model, board, self.start)
        elif self.opening is None or not _has_patterns(space):
            yield from incumbents(space, model, board)
        else:
            yield from self.opening.searched(space, model, board, OPENING)
        if not board.has_schedule:
            yield from _first(space, model, board)
        if not board.best:
            yield board.done(space, complete=False)
            return
        chosen = random.Random(limits.seed)
        complete = True
        current = board.best[0]
        try:
            with board.deadline.kept():
                place = PlacedSchedule.of(space, current.schedule)
                has_choices = len(place.way) > 1  # a space may have a single schedule
                steps = self.steps if has_choices else 0
                for step in range(steps):
                    if step % PART == 0:
                        yield Expanded(step // PART + 1, math.ceil(steps / PART), "change")
                        yield board.scored
                    change = place.changed(chosen, self.numbers)
                    board.considered += 1
                    found = cheapest(space, model, board, change.structure)
                    if found is None:
                        continue
                    board.legal += 1
                    yield from board.offer(found)
                    heat = self.heat * (1 - step / steps)
                    if is_taken(current.cost, found.cost, heat, chosen.random()):
                        current, place = found, PlacedSchedule.after(change, found.schedule)
        except OutOfTime:
            complete = False
        yield board.scored
        yield board.done(space, complete)


def _has_patterns(space: ScheduleSpace) -> bool:
    """Whether the restrictions name only loops that patterns have."""
    try:
        return bool(space.of_patterns)
    except ValueError:
        return False


def _first(space: ScheduleSpace, model: CostModel, board: Board) -> Iterator[Event]:
    """Offers a random schedule, if there is time to find it."""
    try:
        with board.deadline.kept():
            (schedule,) = space.sample(1, board.limits.seed, seconds=FINDING)
    except (OutOfTime, TimeoutError, EmptySpaceError):
        return
    yield from offered(space, model, board, schedule)


def is_taken(current: float, cost: float, heat: float, draw: float) -> bool:
    """Whether a schedule takes the current one's place; ``draw`` is a random number below 1."""
    if cost <= current:
        return True
    return heat > 0 and math.isfinite(cost) and draw < (cost / current) ** (-1 / heat)
