"""A schedule of a space that a search changes, and numbers to try for the changed schedule.

All searches that change schedules share one mechanism: a change decides some things anew, and the
process decides everything else as it was, or as near to it as its options allow
(:meth:`PartialSchedule.along`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from attrs import frozen

from spaces.enumerate.space.patterns.menus import entry_parameters
from spaces.enumerate.space.process.decision import DecisionOption, FormParts
from spaces.enumerate.space.process.partial import PartialSchedule, form_of
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import Schedule

PER_PARAMETER = 8
"""The most numbers that are tried for one parameter at once."""

Way: TypeAlias = tuple[PartialSchedule, ...]
"""The partial schedules on the way to a schedule: the one before each decision, and the complete
one last.
"""


ALL_ALIKE: Mapping[str, float] = MappingProxyType({})
"""No shares of Funcs in a cost are known."""


@frozen
class ChangedSchedule:
    """A structure that a change makes, and the decisions that lead to it.

    Attributes:
        structure: the choices of numbers to try.
        way: the partial schedules on the way to one of its choices.
    """

    structure: Structure
    way: Way

    @staticmethod
    def along(way: Way, func: str, chosen: random.Random, most: int) -> ChangedSchedule:
        """The schedule at the end of a way with up to ``most`` choices of numbers: its own, and
        random others for some parameters of a Func, or of a random one if there is no such Func.
        So other Funcs mostly stay as they are, and little is placed anew.
        """
        state = way[-1].state
        menus: dict[str, tuple[int, ...]] = {}
        entries = [e for e in state.entries if e.name == func] or [chosen.choice(state.entries)]
        own = [name for name in entry_parameters(entries[0]) if name in state.numbers]
        for name in chosen.sample(own, len(own)):
            others = [number for number in state.menus[name] if number != state.numbers[name]]
            size = min(len(others), PER_PARAMETER - 1, most - 1)
            if size > 0:
                menus[name] = tuple(sorted((state.numbers[name], *chosen.sample(others, size))))
                most //= size + 1
        numbers = {name: number for name, number in state.numbers.items() if name not in menus}
        structure = Schedule(state.entries, state.pipeline.derivations)
        return ChangedSchedule(Structure(bind(structure, numbers), menus), way)


@frozen
class PlacedSchedule:
    """A schedule of a space, and the decisions that lead to it.

    Attributes:
        way: the partial schedules on the way.
        form: the parts of the schedule.
    """

    way: Way
    form: FormParts

    @staticmethod
    def of(space: ScheduleSpace, schedule: Schedule) -> PlacedSchedule:
        """The place of a schedule of the space.

        Raises:
            ValueError: the space has no such schedule.
        """
        way = tuple(space.way_to(schedule))
        return PlacedSchedule(way, form_of(way[0].state, schedule))

    @staticmethod
    def after(change: ChangedSchedule, schedule: Schedule) -> PlacedSchedule:
        """The place of one choice of a change. Its decisions are those of the change except for the
        numbers, which come last.
        """
        form = form_of(change.way[0].state, schedule)
        structural = [one for one in change.way if not one.state.has_structure]
        first = change.way[len(structural)]
        return PlacedSchedule((*structural, *first.along(form)), form)

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return self.way[-1].schedule

    def changed(self, chosen: random.Random, most: int) -> ChangedSchedule:
        """The schedule with another option of one random decision, with up to ``most`` choices of
        numbers of the Func that the decision is about.
        """
        number = chosen.randrange(len(self.way) - 1)
        partial, taken = self.way[number], self.way[number + 1].taken[-1]
        option = chosen.choice([one for one in partial.options if one.label != taken])
        way = self.with_option(number, option)
        return ChangedSchedule.along(way, partial.func, chosen, most)

    def others(self, number: int) -> Iterator[tuple[Way, str]]:
        """The ways with another option of a decision, given by its number, and the Func that the
        decision is about.
        """
        partial, taken = self.way[number], self.way[number + 1].taken[-1]
        for option in partial.options:
            if option.label != taken:
                yield self.with_option(number, option), partial.func

    def neighbours(
        self, chosen: random.Random, most: int, shares: Mapping[str, float] = ALL_ALIKE
    ) -> Iterator[ChangedSchedule]:
        """The schedule with each other option of each decision, in random order: one change for
        each option of a decision about its structure, and one for the numbers of each Func. Each
        has up to ``most`` choices of the numbers of the Func that the decision is about.

        With the ``shares`` of Funcs in a cost, decisions about a Func with a larger share are
        likely to come earlier, in proportion [ES06].
        """
        decisions = [n for n, one in enumerate(self.way[:-1]) if not one.state.has_structure]
        entries = self.way[-1].state.entries
        funcs = [entry.name for entry in entries if entry_parameters(entry)]
        subjects: list[int | str] = [*decisions, *funcs]
        ordered = chosen.sample(subjects, len(subjects))
        if shares:
            least = min(shares.values())
            keys = {
                subject: math.log(1 - chosen.random()) / shares.get(self._func_of(subject), least)
                for subject in ordered
            }
            ordered.sort(key=keys.__getitem__, reverse=True)
        for subject in ordered:
            if isinstance(subject, str):
                yield ChangedSchedule.along(self.way, subject, chosen, most)
                continue
            others = list(self.others(subject))
            for way, func in chosen.sample(others, len(others)):
                yield ChangedSchedule.along(way, func, chosen, most)

    def _func_of(self, subject: int | str) -> str:
        return subject if isinstance(subject, str) else self.way[subject].func

    def with_option(self, number: int, option: DecisionOption) -> Way:
        """The way to the schedule with another option of a decision, given by its number."""
        taken = self.way[number].take(option)
        return (*self.way[: number + 1], *taken.along(self.form))
