"""A schedule of a space with another option of one random decision, and numbers to try for it."""

from __future__ import annotations

import random

from attrs import frozen

from spaces.enumerate.menus import entry_parameters
from spaces.enumerate.process.decision import FormParts
from spaces.enumerate.process.partial import PartialSchedule, form_of
from spaces.enumerate.space import ScheduleSpace
from spaces.enumerate.structure import Structure
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import Schedule

PER_PARAMETER = 8
"""The most numbers that are tried for one parameter at once."""


@frozen
class ChangedSchedule:
    """A structure with another option of one decision, and the decisions on its way.

    Attributes:
        structure: the choices of numbers to try.
        way: the partial schedules on the way to one of its choices.
    """

    structure: Structure
    way: tuple[PartialSchedule, ...]


@frozen
class PlacedSchedule:
    """A schedule of a space with the decisions on its way.

    Attributes:
        way: the partial schedule before each decision, and the complete one last.
        form: the parts of the schedule.
    """

    way: tuple[PartialSchedule, ...]
    form: FormParts

    @staticmethod
    def of(space: ScheduleSpace, schedule: Schedule) -> PlacedSchedule:
        way = tuple(space.way_to(schedule))
        return PlacedSchedule(way, form_of(way[0].state, schedule))

    def changed(self, chosen: random.Random, most: int) -> ChangedSchedule:
        """The schedule with another option of one random decision. It has up to ``most`` choices of
        numbers: those of this place, and random others for some parameters of the Func that the
        decision is about, or of a random one. So other Funcs mostly stay as they are, and little
        is placed anew.
        """
        number = chosen.randrange(len(self.way) - 1)
        partial, taken = self.way[number], self.way[number + 1].taken[-1]
        option = chosen.choice([one for one in partial.options if one.label != taken])
        func = "" if partial.decision is None else partial.decision.func
        way = (*self.way[: number + 1], *partial.take(option).along(self.form))
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

    @staticmethod
    def after(change: ChangedSchedule, schedule: Schedule) -> PlacedSchedule:
        """The place of a choice of a change. Only numbers differ on its way, which come last."""
        form = form_of(change.way[0].state, schedule)
        structural = [one for one in change.way if not one.state.has_structure]
        first = change.way[len(structural)]
        return PlacedSchedule((*structural, *first.along(form)), form)
