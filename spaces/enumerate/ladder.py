"""The first schedules of a search: a fixed ladder of simple ones.

A search of any length hands over at least the cheapest legal one of them. Each rung decides all
Funcs alike from the menus of the space: at root or inlined, with one pattern of loops, and with
small or medium tiles. So a GPU gets blocks of threads, and a CPU parallel strips of vectors. The
funnel of a search does not count them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.enumerate.board import Board
from spaces.enumerate.events import Event, Found
from spaces.enumerate.frontier import Frontier, ResidualPath
from spaces.enumerate.menus import FuncMenu, entry_parameters
from spaces.enumerate.space import ScheduleSpace
from spaces.model.deadline import NO_DEADLINE, OutOfTime
from spaces.model.formulas.regions import UnboundedError
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import FuncSchedule, Schedule

PRICING = 0.2
"""Seconds after the time limit in which to price the first legal schedule."""

SHARE = 0.125
"""The share of the time limit of a search in which to climb the ladder."""


@frozen
class Rung:
    """One way to decide every Func.

    Attributes:
        inlines: whether Funcs are inlined where the space allows it, instead of computed at root.
        pattern: which pattern of loops they have at root; the last one if there are fewer.
        place: which number of each menu they have, from 0 for the first to 1 for the last.
    """

    inlines: bool
    pattern: int
    place: float

    def entry(self, menu: FuncMenu, path: ResidualPath) -> FuncSchedule:
        """The schedule of one Func: the first choice of its menu if the space allows no other."""
        entries = list(menu.entries(path))
        wanted = [e for e in entries if e.compute.is_inline] if self.inlines else []
        rooted = [e for e in entries if e.compute.is_root]
        wanted = wanted or rooted[self.pattern :] or rooted[-1:] or entries
        return wanted[0]

    def numbers(self, menu: FuncMenu, entry: FuncSchedule) -> dict[str, int]:
        """The factors of one Func."""
        names = entry_parameters(entry)
        return {n: menu.factors[n][int(self.place * (len(menu.factors[n]) - 1))] for n in names}


RUNGS = tuple(
    Rung(inlines, pattern, place)
    for place in (0.5, 0.0)
    for pattern in (0, 1)
    for inlines in (False, True)
)
"""The ladder. The first rung is legal most often and verified soonest."""


def filled(
    space: ScheduleSpace,
    entries: tuple[FuncSchedule, ...],
    numbers: Mapping[str, int],
    rung: Rung,
) -> Schedule:
    """A schedule that keeps the entries of the first Funcs (consumers before producers), with their
    numbers; the rung decides the others.
    """
    chosen = dict(numbers)
    decided = {entry.name: entry for entry in entries}
    frontier = Frontier({})
    for name, menu in space.menus.items():
        path = frontier.path(name)
        if name not in decided:
            entry = decided[name] = rung.entry(menu, path)
            chosen |= rung.numbers(menu, entry)
        frontier = frontier.after(menu.function, decided[name])
    structure = space.schedule(tuple(decided[name] for name in reversed(space.menus)))
    return bind(structure, chosen)


def incumbents(space: ScheduleSpace, model: CostModel, board: Board) -> Iterator[Event]:
    """Offers the legal schedules of the ladder: the first one however long it takes, others in
    :data:`SHARE` of the time limit. The first one has an infinite cost if there is no time to price
    it. Offers none if the restrictions name loops that patterns lack.
    """
    seen: set[Schedule] = set()
    try:
        space = space.of_patterns
    except ValueError:
        return
    for rung in RUNGS:
        limit = board.until(SHARE) if board.has_schedule else NO_DEADLINE
        try:
            with limit.kept():
                schedule = filled(space, (), {}, rung)
                if schedule in seen or not space.verdict(schedule):
                    continue
                seen.add(schedule)
        except OutOfTime:
            return
        yield from offered(space, model, board, schedule)


def offered(
    space: ScheduleSpace, model: CostModel, board: Board, schedule: Schedule
) -> Iterator[Event]:
    """Offers a legal schedule, with a cost if there is time to price it."""
    try:
        with board.deadline.later(PRICING).kept():
            cost = priced(space, model, board, schedule)
    except OutOfTime:
        yield from board.hold(schedule)
    else:
        yield from board.offer(Found(cost, schedule))


def priced(space: ScheduleSpace, model: CostModel, board: Board, schedule: Schedule) -> float:
    """The cost of one schedule with numbers; infinity if it has no loop nest."""
    try:
        return float(board.price(model, Batch.of(space.pipeline, schedule)))
    except UnboundedError:
        return float("inf")
