"""Rewrites: other schedules that compute the same as a found one and may be cheaper.

A search decides a Func before its producers. Once they are decided, another choice may be cheaper.
A rewrite leaves a part of a found schedule open: the numbers of some loops, or all decisions about
some Funcs. The search then decides this part again (:mod:`.while_cheaper`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import ClassVar, Protocol, TypeAlias

from attrs import evolve, field, frozen

from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.enumerate.space.edits import DecidedSchedule
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derivations import Derivation
from spaces.model.schedules.derive import derived
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import Schedule


@frozen
class FoundSchedule:
    """A schedule that a search found, and that rewrites change.

    Attributes:
        pricer: prices and judges what rewrites make of it.
        space: the space of the search.
        schedule: the schedule, with parameters as factors.
        numbers: the number of each parameter.
        menus: the numbers to choose from, for each parameter.
        cost: its cost; not a number if it is not known.
        states: the decisions that lead to it, and those that lead to others of the same walk; empty
            if its loops are not those of whole patterns.
    """

    pricer: Pricer = field(repr=False)
    space: ScheduleSpace
    schedule: Schedule
    numbers: Mapping[str, int]
    menus: Mapping[str, tuple[int, ...]]
    cost: float = math.nan
    states: tuple[HalfDecided, ...] = ()

    @staticmethod
    def of_states(
        pricer: Pricer, space: ScheduleSpace, states: tuple[HalfDecided, ...]
    ) -> FoundSchedule:
        """The schedule of the first of some states in which every Func is decided."""
        first = states[0]
        process = evolve(first.partial.state, numbers=first.numbers)
        return evolve(_read_schedule(pricer, space, process), cost=first.cost, states=states)

    @staticmethod
    def of_decided(pricer: Pricer, decided: DecidedSchedule) -> FoundSchedule:
        """A schedule of the space of a pricer, whose cost is not known."""
        return _read_schedule(pricer, pricer.space, decided.way[-1].state)

    @cached_property
    def with_numbers(self) -> Schedule:
        """The schedule with its numbers as factors."""
        return bind(self.schedule, self.numbers)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline that it schedules, after derivations."""
        return derived(self.space.pipeline, self.schedule)


def _read_schedule(pricer: Pricer, space: ScheduleSpace, process: ProcessState) -> FoundSchedule:
    """The schedule of a state in which all is decided."""
    schedule = Schedule(process.entries, process.pipeline.derivations)
    names = parameters(schedule)
    numbers = {name: process.numbers[name] for name in names}
    menus = {name: process.menus[name] for name in names}
    return FoundSchedule(pricer, space, schedule, numbers, menus)


@frozen
class OpenNumbers:
    """A schedule some of whose numbers are open.

    Attributes:
        schedule: the schedule, with parameters as factors.
        menus: the numbers to choose from, for each open parameter. All others keep their numbers.
    """

    schedule: Schedule
    menus: Mapping[str, tuple[int, ...]]

    def structure(self, found: FoundSchedule) -> Structure:
        """The candidates that a search compares: the open parameters are its parameters.

        Args:
            found: the schedule that the rewrite changes.
        """
        fixed = {name: number for name, number in found.numbers.items() if name not in self.menus}
        schedule = bind(self.schedule, fixed)
        return Structure(schedule, {name: self.menus[name] for name in parameters(schedule)})


@frozen
class OpenFuncs:
    """A schedule with further derivations. The Funcs that these change or make are open, and so are
    all that a search decides later.

    Attributes:
        directive: the directive that makes these derivations.
        steps: the derivations.
    """

    directive: str
    steps: tuple[Derivation, ...]


Opening: TypeAlias = OpenNumbers | OpenFuncs
"""What a rewrite leaves open."""


class Rewrite(Protocol):
    """One change of a schedule, such as of one Func. It has a hash: none is tried twice.

    Attributes:
        keeps_structure: whether it changes numbers alone. Other changes are worth it only if the
            schedule becomes clearly cheaper.
    """

    keeps_structure: ClassVar[bool]

    def open(self, found: FoundSchedule) -> Iterator[Opening]:
        """What the rewrite leaves open of a schedule: one or more alternatives; none if it does not
        apply.
        """
        ...


FindRewrites: TypeAlias = Callable[[FoundSchedule], Iterator[Rewrite]]
"""Finds the rewrites of one kind that may make a schedule cheaper."""
