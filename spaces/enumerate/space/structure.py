"""Structures: schedules whose factors are open, with the lattice of their choices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np
from attrs import field, frozen

from spaces.constraints.legality.lattice import Columns
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import Schedule

PART = 1 << 16
"""The most choices of a structure that are judged or scored at once."""

_MOST_AXES = 32
"""The most parameters of a structure that are axes of one array; NumPy has up to 64."""


@frozen
class Structure:
    """One structure of a space with its tile lattice.

    Attributes:
        schedule: the structure, with parameters as factors.
        menus: the factors to choose from, for each parameter.
        fixed: for a part of a structure, the numbers of the other parameters of that structure.
    """

    schedule: Schedule
    menus: dict[str, tuple[int, ...]] = field(eq=False)
    fixed: dict[str, int] = field(eq=False, factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of choices of each parameter; ``()`` without parameters."""
        return tuple(len(menu) for menu in self.menus.values())

    @property
    def size(self) -> int:
        """The number of all choices."""
        return math.prod(self.shape)

    def parts(self, most: int = PART) -> Iterator[Structure]:
        """The structure as structures of at most ``most`` choices, each with numbers for some
        parameters; together they have the same choices in the same order.
        """
        names = list(self.menus)
        size, first = 1, len(names)
        while first and len(names) - first < _MOST_AXES:
            size *= len(self.menus[names[first - 1]])
            if size > most:
                break
            first -= 1
        if not first:
            yield self
            return
        rest = {name: self.menus[name] for name in names[first:]}
        for numbers in itertools.product(*(self.menus[name] for name in names[:first])):
            chosen = dict(zip(names[:first], numbers, strict=True))
            yield Structure(bind(self.schedule, chosen), rest, {**self.fixed, **chosen})

    @property
    def columns(self) -> Columns:
        """The lattice as an open mesh: one axis a parameter."""
        axes = np.ix_(*self.menus.values()) if self.menus else ()
        return {n: a.astype(np.int64) for n, a in zip(self.menus, axes, strict=True)}

    @property
    def all_columns(self) -> Columns:
        """The lattice with the fixed parameters, for formulas of the whole structure."""
        return {**{n: np.array(number) for n, number in self.fixed.items()}, **self.columns}

    def numbers(self, index: int) -> dict[str, int]:
        """The factors of one choice, by its index in the flattened lattice."""
        numbers: dict[str, int] = {}
        for name, menu in reversed(self.menus.items()):
            index, place = divmod(index, len(menu))
            numbers[name] = menu[place]
        return numbers

    def index(self, numbers: Mapping[str, int]) -> int | None:
        """The index of the choice with some factors; None if one is not on its menu."""
        index = 0
        for name, menu in self.menus.items():
            if numbers[name] not in menu:
                return None
            index = index * len(menu) + menu.index(numbers[name])
        return index

    def at(self, index: int) -> Schedule:
        """The schedule of one choice."""
        return bind(self.schedule, self.numbers(index))
