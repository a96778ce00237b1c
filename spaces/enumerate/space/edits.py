"""Edits of the schedules of a space.

Decisions lead to each schedule of a space. An edit makes some of them anew. The process then makes
all others as they were, or as near to that as its options allow (:meth:`PartialSchedule.along`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from attrs import frozen

from spaces.enumerate.space.finding import way_to
from spaces.enumerate.space.process.decision import DecisionOption, FormParts
from spaces.enumerate.space.process.partial import PartialSchedule, form_of
from spaces.enumerate.space.space import Space
from spaces.enumerate.space.structure import Structure
from spaces.model.directives.edit import Edit
from spaces.model.schedules.parameters import bind, entry_parameters
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
class DecisionEdit(Edit):
    """An edit of a schedule of a space. It may lead to an illegal schedule.

    Attributes:
        way: the decisions that lead to the schedule after it.
    """

    way: Way

    @staticmethod
    def along(way: Way, func: str = "", text: str = "") -> DecisionEdit:
        """The edit that leads to the end of a way."""
        return DecisionEdit(func, way[-1].schedule, way, text=text)

    def open_numbers(self, chosen: random.Random, most: int) -> Structure:
        """The schedule after the edit with up to ``most`` choices of numbers: its own, and random
        other ones for some parameters of the Func of the edit. If the edit is about none, a random
        Func stands in. Other Funcs keep their numbers, so little is placed anew.
        """
        state = self.way[-1].state
        menus: dict[str, tuple[int, ...]] = {}
        entries = [e for e in state.entries if e.name == self.func]
        entry = entries[0] if entries else chosen.choice(state.entries)
        own = [name for name in entry_parameters(entry) if name in state.numbers]
        for name in chosen.sample(own, len(own)):
            others = [number for number in state.menus[name] if number != state.numbers[name]]
            size = min(len(others), PER_PARAMETER - 1, most - 1)
            if size > 0:
                menus[name] = tuple(sorted((state.numbers[name], *chosen.sample(others, size))))
                most //= size + 1
        numbers = {name: number for name, number in state.numbers.items() if name not in menus}
        return Structure(bind(Schedule(state.entries, state.pipeline.derivations), numbers), menus)

    def with_numbers_of(self, schedule: Schedule) -> DecidedSchedule:
        """The decisions of a schedule that differs from the one after the edit in numbers alone.
        Decisions about numbers come last.
        """
        form = form_of(self.way[0].state, schedule)
        structural = [one for one in self.way if not one.state.has_structure]
        first = self.way[len(structural)]
        return DecidedSchedule((*structural, *first.along(form)), form)


@frozen
class DecidedSchedule:
    """A schedule of a space, with the decisions that lead to it.

    Attributes:
        way: the decisions.
        form: the parts of the schedule.
    """

    way: Way
    form: FormParts

    @staticmethod
    def of(space: Space, schedule: Schedule) -> DecidedSchedule:
        """The decisions that lead to a schedule.

        Raises:
            ValueError: the space has no such schedule.
        """
        way = tuple(way_to(space, schedule))
        return DecidedSchedule(way, form_of(way[0].state, schedule))

    @staticmethod
    def near(space: Space, schedule: Schedule) -> DecidedSchedule:
        """The decisions that lead to a schedule, or as near to it as the options of the space
        allow.
        """
        start = space.start()
        form = form_of(start.state, schedule)
        return DecidedSchedule(tuple(start.along(form)), form)

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return self.way[-1].schedule

    def edit(self, number: int, option: DecisionOption) -> DecisionEdit:
        """The edit that takes another option of a decision, given by its number."""
        before = self.way[: number + 1]
        way = (*before, *before[-1].take(option).along(self.form))
        return DecisionEdit.along(way, before[-1].func, option.label)

    def edits_of(self, number: int) -> Iterator[DecisionEdit]:
        """The edits that take another option of a decision, given by its number."""
        for option in self._other_options(number):
            yield self.edit(number, option)

    def edits(self) -> Iterator[DecisionEdit]:
        """The edits that take another option of one decision, in the order of decisions."""
        for number in range(len(self.way) - 1):
            yield from self.edits_of(number)

    def draw_edit(self, chosen: random.Random) -> DecisionEdit | None:
        """A random one of these edits: all decisions have the same chance, and so have all other
        options of a decision. None if the space has no other schedule.
        """
        if len(self.way) == 1:
            return None
        number = chosen.randrange(len(self.way) - 1)
        return self.edit(number, chosen.choice(self._other_options(number)))

    def shuffle_edits(
        self, chosen: random.Random, shares: Mapping[str, float] = ALL_ALIKE
    ) -> Iterator[DecisionEdit]:
        """In random order: an edit for each other option of each decision about the structure, and
        an edit for each Func with parameters, which changes nothing but opens its numbers.

        With the ``shares`` of Funcs in a cost, edits of a Func with a larger share are likely to
        come earlier, in proportion [ES06].
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
                yield DecisionEdit.along(self.way, subject, "numbers")
                continue
            edits = list(self.edits_of(subject))
            yield from chosen.sample(edits, len(edits))

    def _other_options(self, number: int) -> list[DecisionOption]:
        partial, taken = self.way[number], self.way[number + 1].taken[-1]
        return [option for option in partial.options if option.label != taken]

    def _func_of(self, subject: int | str) -> str:
        return subject if isinstance(subject, str) else self.way[subject].func


def find_way_near(start: PartialSchedule, schedule: Schedule) -> Way:
    """The way from the start of a space to its schedule that is nearest to the given one."""
    return tuple(start.along(form_of(start.state, schedule)))


def cross_forms(
    start: PartialSchedule, first: FormParts, second: FormParts, cut: Collection[str]
) -> DecisionEdit:
    """The edit of a schedule of form ``first`` that decides the Funcs of a cut as in a schedule of
    form ``second``. All other Funcs and the derivations stay as they are. What does not fit
    together is decided as near to the two as the space allows.
    """
    return DecisionEdit.along(tuple(start.along(first, dict.fromkeys(cut, second))), text="cross")


def enumerate_neighbours(space: Space, schedule: Schedule) -> Iterator[Schedule]:
    """All schedules of a space, legal or not, in which one decision of a given schedule is another
    one. Where that decision forces others to change, these differ, too. Lazily, in the order of
    decisions.

    Raises:
        ValueError: the space has no such schedule.
    """
    for edit in DecidedSchedule.of(space, schedule).edits():
        yield edit.after


def mutate_schedule(space: Space, schedule: Schedule, chosen: random.Random) -> Schedule:
    """A schedule with one random decision changed: all decisions of ``schedule`` have the same
    chance, and so have all other options of the decision. It may be illegal.

    Raises:
        ValueError: the space has no such schedule, or no other one.
    """
    edit = DecidedSchedule.of(space, schedule).draw_edit(chosen)
    if edit is None:
        raise ValueError(f"The space of {space.pipeline.name} has one schedule only.")
    return edit.after


def cross_schedules(
    space: Space, first: Schedule, second: Schedule, chosen: random.Random
) -> Schedule:
    """A schedule whose Funcs are each decided as in ``first`` or as in ``second``, at random. What
    does not fit together is decided as near to them as the space allows. It may be illegal.

    Raises:
        ValueError: a schedule lacks entries of Funcs.
    """
    start = space.start()
    parents = [form_of(start.state, parent) for parent in (first, second)]
    one, other = chosen.sample(parents, 2)
    cut = [function.name for function in space.pipeline.functions if chosen.randrange(2)]
    return cross_forms(start, one, other, cut).after
