"""The first schedules of a search: a fixed list of simple ones.

A search of any length hands over at least the cheapest legal one of them. Each choice decides all
Funcs alike with the options of the space: at root or inlined, with one pattern of loops, and with
small or medium tiles. So a GPU gets blocks of threads, and a CPU parallel strips of vectors. The
first pattern of an output fits its size (:mod:`~spaces.enumerate.space.patterns.fitting_size`). The
last one is the plain nest, if it is cheaper. The funnel of a search does not count them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
from attrs import frozen

from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.pricer import NO_NUMBERS, Pricer
from spaces.enumerate.space.listing import structure_of
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.topics.orders import OrderTopic
from spaces.enumerate.space.process.topics.placing import PlaceTopic
from spaces.model.algorithm.inlined import live_functions
from spaces.model.deadline import NO_DEADLINE, OutOfTime, ask_clock
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import INLINE, ROOT, FuncSchedule, Schedule

PRICING = 0.2
"""Seconds after the time limit in which to price the first legal schedule."""

SHARE = 0.125
"""The share of the time limit of a search in which to try them."""


@frozen
class UniformChoice:
    """One way to decide every Func.

    Attributes:
        inlines: whether Funcs are inlined where the space allows it, instead of computed at root.
        pattern: which pattern of loops they have at root; the last one if there are fewer.
        place: which number of each menu they have, from 0 for the first to 1 for the last.
    """

    inlines: bool
    pattern: int
    place: float

    def option(self, partial: PartialSchedule) -> DecisionOption:
        """The option of the next decision; the first one if the space allows no other."""
        options = partial.options
        match partial.state.agenda[0]:
            case PlaceTopic() as topic:
                levels = {option.claims.get(topic.name): option for option in options}
                inlined = levels.get(str(INLINE)) if self.inlines else None
                return inlined or levels.get(str(ROOT)) or options[0]
            case OrderTopic() if partial.state.entry.compute.is_root:
                return options[min(self.pattern, len(options) - 1)]
        return next((option for option in options if option.is_plain), options[0])

    def number(self, menu: tuple[int, ...]) -> int:
        """The number of a menu that a factor has."""
        return menu[int(self.place * (len(menu) - 1))]


UNIFORM_CHOICES = tuple(
    UniformChoice(inlines, pattern, place)
    for place in (0.5, 0.0)
    for pattern in (0, 1)
    for inlines in (False, True)
)
"""The choices to try. The first one is legal most often and verified soonest."""


def fill_schedule(
    partial: PartialSchedule, numbers: Mapping[str, int], choice: UniformChoice
) -> Schedule:
    """The schedule that follows from a half-decided one with some numbers: the choice decides the
    other Funcs and numbers.
    """
    return bind(*_choice(partial, numbers, choice))


def _choice(
    partial: PartialSchedule, numbers: Mapping[str, int], choice: UniformChoice
) -> tuple[Schedule, dict[str, int]]:
    """The structure that follows from a half-decided schedule, and the numbers of its factors."""
    partial = _open_factors(partial, choice)
    menus = partial.state.open_menus
    chosen = {name: choice.number(menu) for name, menu in menus.items()}
    return partial.schedule, {**chosen, **numbers}


def _open_factors(partial: PartialSchedule, choice: UniformChoice) -> PartialSchedule:
    """The structure that follows from a half-decided schedule, with factors open."""
    while not partial.state.has_structure:
        ask_clock()
        partial = partial.take(choice.option(partial))
    return partial


def offer_incumbents(pricer: Pricer) -> Iterator[Event]:
    """Offers the legal ones of the first schedules: the first one however long it takes, others in
    :data:`SHARE` of the time limit. The first one has an infinite cost if there is no time to price
    it. Offers none if the restrictions name loops that patterns lack.
    """
    for structure, numbers in _legal_choices(pricer):
        yield from offer_schedule(pricer, structure, numbers)
    yield from offer_plain_nest(pricer)


def offer_first_incumbent(pricer: Pricer) -> Iterator[Event]:
    """Offers the first legal one of these schedules, for searches that soon find better ones. It
    prices its numbers alone, which takes less time.
    """
    for structure, numbers in islice(_legal_choices(pricer), 1):
        yield from offer_schedule(pricer, bind(structure, numbers))
    yield from offer_plain_nest(pricer)


def offer_plain_nest(pricer: Pricer) -> Iterator[Event]:
    """Offers plain loops of each Func at root, if the space has them and they are legal and cheap,
    in :data:`SHARE` of the time limit. For tiny sizes hardly anything is cheaper, since kernels and
    threads take time to start. Whole patterns lack these loops.
    """
    space, board = pricer.space, pricer.board
    names = frozenset(function.name for function in space.pipeline.functions)
    live = {function.name for function in live_functions(space.pipeline, names)}
    entries = (FuncSchedule.default(f, f.name in live) for f in space.pipeline.functions)
    schedule = Schedule(tuple(entries), space.pipeline.derivations)
    least = board.best[0].cost if board.best else math.inf
    try:
        with board.until(SHARE).kept():
            cost = pricer.price_schedule(schedule)
            if cost < least and schedule in space and pricer.is_legal(schedule):
                yield from board.offer(Found(cost, schedule))
    except OutOfTime:
        return


def _legal_choices(pricer: Pricer) -> Iterator[tuple[Schedule, dict[str, int]]]:
    """The legal ones of the first schedules, as structures with numbers."""
    seen: set[Schedule] = set()
    board = pricer.board
    try:
        patterns = pricer.within(pricer.space.of_patterns)
    except ValueError:
        return
    for choice in UNIFORM_CHOICES:
        limit = board.until(SHARE) if board.has_schedule else NO_DEADLINE
        try:
            with limit.kept():
                structure, numbers = _choice(patterns.space.start(), {}, choice)
                schedule = bind(structure, numbers)
                if schedule in seen or not patterns.is_legal(schedule):
                    continue
                seen.add(schedule)
        except OutOfTime:
            return
        yield structure, numbers
    if not board.has_schedule:
        yield from _with_other_numbers(patterns)


def _with_other_numbers(pricer: Pricer) -> Iterator[tuple[Schedule, dict[str, int]]]:
    """A legal one of the first schedules, with other numbers than its choice has. None if none of
    their structures has legal numbers among the first ones of its lattice.
    """
    for choice in UNIFORM_CHOICES[: len(UNIFORM_CHOICES) // 2]:
        structure = structure_of(_open_factors(pricer.space.start(), choice).state)
        part = next(structure.parts())
        first = next(pricer.order_legal(part, np.zeros(part.shape)), None)
        if first is not None:
            yield structure.schedule, {**part.fixed, **part.numbers(first)}
            return


def offer_schedule(
    pricer: Pricer, structure: Schedule, numbers: Mapping[str, int] = NO_NUMBERS
) -> Iterator[Event]:
    """Offers a legal schedule, one choice of a structure, with its cost if there is time to price
    it.
    """
    board, schedule = pricer.board, bind(structure, numbers)
    try:
        with board.deadline.later(PRICING).kept():
            cost = pricer.price_schedule(structure, numbers)
    except OutOfTime:
        yield from board.hold(schedule)
    else:
        yield from board.offer(Found(cost, schedule))
