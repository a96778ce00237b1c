"""Half-decided schedules with their costs: what searches that decide Func after Func share.

A half-decided schedule is a whole schedule of a smaller pipeline, in which the open Funcs are
images: so it has a loop nest, a cost and a verdict like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.enumerate.search.stagewise.changed_nests import Nests
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.structure import Structure
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import FuncSchedule, Schedule

FreeNumbers: TypeAlias = Mapping[str, tuple[int, ...]]
"""The numbers to choose from, by parameter."""


@frozen
class CostOfOthers:
    """The cost of all nests of a schedule but some, which have some numbers."""

    nests: Nests
    numbers: Mapping[str, int] = field(repr=False)
    cost: float


@frozen
class HalfDecided:
    """A half-decided schedule, the numbers of its parameters, and its cost.

    Attributes:
        cost: the cost of its pipeline; infinite while Funcs of it wait for their price. If the
            model adds up nests, each is priced as if it were alone, and this is the sum.
        before: the state before the last Func was decided; None of the first.
        others: the cost of the nests that its last decision did not change, if it is known.
    """

    partial: PartialSchedule
    numbers: Mapping[str, int]
    cost: float
    before: HalfDecided | None = field(default=None, eq=False, repr=False)
    others: CostOfOthers | None = field(default=None, eq=False, repr=False)

    def cost_beside(self, nests: Nests) -> float | None:
        """The cost of all nests but some; None if it is not known."""
        known = self.others
        if known is None or known.nests != nests or known.numbers is not self.numbers:
            return None
        return known.cost

    @property
    def is_priced(self) -> bool:
        """Whether it has a finite cost."""
        return bool(np.isfinite(self.cost))

    def entries(self, decided: Collection[str]) -> tuple[FuncSchedule, ...]:
        """The entries of some Funcs, producers first, with parameters."""
        names = frozenset(decided)
        return tuple(one for one in self.partial.state.entries if one.name in names)


@frozen
class OpenWay:
    """One way to decide the next Func, without a cost yet.

    Attributes:
        state: the half-decided schedule with the Func.
        decided: the decided Funcs, consumers first.
        free: the parameters to choose anew, with their numbers.
        changed: the loop nests to price; None for all.
        others: the cost of all other nests.
        whole: the way with all its numbers, if this one has the usual ones only.
    """

    state: HalfDecided
    decided: Sequence[str]
    free: FreeNumbers = field(eq=False, factory=dict)
    changed: Nests | None = None
    others: float = 0.0
    whole: OpenWay | None = field(default=None, eq=False, repr=False)

    @property
    def usual(self) -> OpenWay:
        """The way with the middle number for each parameter to choose. Without parameters its loop
        nest is found twice as fast. It is the whole way if no parameter has another number.
        """
        if not self.free:
            return self
        middle = {name: menu[len(menu) // 2] for name, menu in self.free.items()}
        state = evolve(self.state, numbers={**self.state.numbers, **middle})
        whole = self if any(len(menu) > 1 for menu in self.free.values()) else None
        return evolve(self, state=state, free={}, whole=whole)

    @property
    def entry(self) -> FuncSchedule:
        """The entry of the Func decided last."""
        name = self.decided[-1]
        return next(one for one in self.state.partial.state.entries if one.name == name)

    @cached_property
    def structure(self) -> Structure:
        """The decided Funcs; its parameters are those to choose anew."""
        return self._structure(self.decided)

    @cached_property
    def to_price(self) -> Structure:
        """The Funcs of the nests to price, with the same choices."""
        return self.structure if self.changed is None else self._structure(self.changed.funcs)

    def _structure(self, names: Collection[str]) -> Structure:
        whole, numbers, free = self.state.partial.state, self.state.numbers, self.free
        schedule = Schedule(self.state.entries(names), whole.pipeline.derivations)
        fixed = (name for name in parameters(schedule) if name in numbers and name not in free)
        bound = bind(schedule, {name: numbers[name] for name in fixed})
        menus = {name: free.get(name) or whole.menus[name] for name in parameters(bound)}
        return Structure(bound, menus)


@frozen
class PricedWay:
    """One way to decide the next Func, with the costs of its choices.

    Attributes:
        way: the way.
        costs: the cost of each choice.
        is_legal: whether illegal choices have an infinite cost, as far as this matters before the
            schedule is complete.
        otherwise: a way with the same loop nest, for the case that the cheapest choice is illegal.
    """

    way: OpenWay
    costs: NDArray[np.float64]
    is_legal: bool = False
    otherwise: OpenWay | None = field(default=None, eq=False, repr=False)

    @property
    def structure(self) -> Structure:
        """The decided Funcs; its parameters are those to choose anew."""
        return self.way.structure

    @property
    def cost(self) -> float:
        """The cost of the cheapest choice."""
        return float(self.costs.min())

    @property
    def last(self) -> tuple[object, ...]:
        """Whether the Func decided last is inlined, at root or at a loop, and its loops."""
        entry = self.way.entry
        place = entry.compute.is_inline, entry.compute.is_root
        return place, *((loop.name, loop.kind) for loop in entry.stages[0].loops)

    @property
    def levels(self) -> tuple[object, ...]:
        """Where its Funcs are computed and stored, and the loops of the Func decided last."""
        entries = self.way.state.entries(self.way.decided)
        return (*self.last, *((entry.name, entry.compute, entry.store) for entry in entries))

    @property
    def cheapest(self) -> HalfDecided:
        """The state with the numbers of the cheapest choice."""
        index = int(np.argmin(self.costs))
        state = self.way.state
        numbers = {**state.numbers, **self.way.to_price.numbers(index)}
        changed, cost = self.way.changed, float(self.costs.flat[index])
        others = None if changed is None else CostOfOthers(changed, numbers, self.way.others)
        return evolve(state, numbers=numbers, cost=cost, others=others)
