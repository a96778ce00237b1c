"""Counts candidates without listing them.

A candidate is a structure with a choice from the menu of each of its parameters, legal or not. The
space decides Funcs consumers first, and the open decisions depend only on the residual paths.
States whose residual paths have the same form have the same number of completions, so the census
counts each form once: a decision diagram over merged residual states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from attrs import define, field

from spaces.enumerate.frontier import Frontier, ResidualLoop
from spaces.enumerate.menus import FixedMenu, FuncMenu
from spaces.model.deadline import ask_clock
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import FuncSchedule, Schedule

StateKey: TypeAlias = tuple[object, ...]


@define
class Census:
    """Counts of candidates for ``menus``, consumers first."""

    menus: Mapping[str, FuncMenu]
    _names: list[str] = field(init=False)
    _known: dict[tuple[int, StateKey], int] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._names = list(self.menus)

    def total(self) -> int:
        """The number of candidates."""
        return self._count(0, Frontier({}))

    def candidate(self, index: int) -> tuple[tuple[FuncSchedule, ...], dict[str, int]]:
        """The candidate with this index, from 0 to :meth:`total`: the entries of its structure and
        its numbers.
        """
        frontier = Frontier({})
        entries: dict[str, FuncSchedule] = {}
        numbers: dict[str, int] = {}
        for position, name in enumerate(self._names):
            menu = self.menus[name]
            for entry in menu.entries(frontier.path(name)):
                after = frontier.after(menu.function, entry)
                rest = self._count(position + 1, after)
                names = entry_parameters(entry)
                size = rest * math.prod(len(menu.factors[n]) for n in names)
                if index < size:
                    index, numbers_index = index % rest, index // rest
                    for parameter in names:
                        options = menu.factors[parameter]
                        numbers_index, place = divmod(numbers_index, len(options))
                        numbers[parameter] = options[place]
                    entries[name] = entry
                    frontier = after
                    break
                index -= size
            else:
                raise IndexError("there are not as many candidates")
        return tuple(entries[name] for name in reversed(self._names)), numbers

    def _count(self, position: int, frontier: Frontier) -> int:
        if position == len(self._names):
            return 1
        key = (position, self._form(position, frontier))
        known = self._known.get(key)
        if known is None:
            menu = self.menus[self._names[position]]
            known = 0
            for entry in menu.entries(frontier.path(menu.function.name)):
                ask_clock()
                size = math.prod(len(menu.factors[n]) for n in entry_parameters(entry))
                known += size * self._count(position + 1, frontier.after(menu.function, entry))
            self._known[key] = known
        return known

    def _form(self, position: int, frontier: Frontier) -> StateKey:
        """Residual paths with their loops numbered in order of appearance. States that differ only
        in names are then equal, unless the given level of an open Func names a loop.
        """
        if any(isinstance(self.menus[name], FixedMenu) for name in self._names[position:]):
            return tuple(frontier.path(name) for name in self._names[position:])
        numbers: dict[ResidualLoop, int] = {}
        return tuple(
            tuple(
                (numbers.setdefault(step, len(numbers)), step.kind) for step in frontier.path(name)
            )
            for name in self._names[position:]
        )


def entry_parameters(entry: FuncSchedule) -> tuple[str, ...]:
    """The parameters of the entry of one Func."""
    return parameters(Schedule((entry,)))
