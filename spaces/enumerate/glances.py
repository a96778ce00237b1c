"""What ways to decide a Func cost, where other ways tell it.

Most ways need a loop nest and a price of their own. If a model adds up the costs of nests, two
kinds do not:

- A Func at root has a nest of its own. What its loops are worth is the same whatever its readers
  do, so they are compared after one state only: by usual numbers, for what is kept is priced again.
- An explicit bound that is what the readers demand anyway changes no loop nest. It is wanted only
  if the same way without it is illegal: if it unrolls a loop whose extent is not constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from attrs import define, evolve, field

from spaces.cost.model import AdditiveModel
from spaces.enumerate.half_decided import OpenWay, PricedWay
from spaces.enumerate.stage_decisions import StageDecisions
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Bound, FuncSchedule

_Place: TypeAlias = tuple[int, FuncSchedule]
"""A state, by its identity, and how it decides the next Func."""


@define
class Glances:
    """Prices the ways to decide a Func one by one.

    Attributes:
        task: what the steps of the search share.
        part: the pipeline of all decided Funcs.
    """

    task: StageDecisions
    part: Pipeline
    _priced: dict[_Place, PricedWay] = field(init=False, factory=dict)
    _at_root: dict[int, FuncSchedule] = field(init=False, factory=dict)
    _bounded: dict[_Place, OpenWay] = field(init=False, factory=dict)

    def __call__(self, way: OpenWay) -> PricedWay | None:
        """A way with its cost for usual numbers, or for all if it has none for these; None if it
        has no loop nest, or if it is left for the case that the same way without bounds is illegal.
        """
        if not isinstance(self.task.model, AdditiveModel):
            return self.task.glanced(self.part, way)
        state, entry = place = _place(way)
        if self._is_unbounded_alike(way):
            self._bounded[state, evolve(entry, bounds=())] = way
            return None
        found = self._of_other_state(way) or self.task.glanced(self.part, way)
        if found is not None:
            self._priced[place] = found
            if entry.compute.is_root:
                self._at_root.setdefault(state, entry)
        return found

    def with_bounds(self, found: Iterable[PricedWay]) -> list[PricedWay]:
        """Priced ways, with the same ways with bounds for the case that they are illegal."""
        bounded = self._bounded
        return [evolve(one, otherwise=bounded.get(_place(one.way))) for one in found]

    def _is_unbounded_alike(self, way: OpenWay) -> bool:
        """Whether its explicit bounds are what is required without them."""
        state, entry = _place(way)
        if not entry.bounds:
            return False
        found = self._priced.get((state, evolve(entry, bounds=())))
        if found is None or found.batch is None:
            return False
        func = found.batch.features.func(entry.name)
        required = dict(zip(func.args, func.required, strict=True))
        return all(
            isinstance(one, Bound) and np.all(required[one.dimension] == one.extent)
            for one in entry.bounds
        )

    def _of_other_state(self, way: OpenWay) -> PricedWay | None:
        """A way at root with its cost by the same way after another state, and by the difference
        between the states; None if they do not tell it.
        """
        (own, entry), usual = _place(way), way.usual
        if usual.whole is None or not entry.compute.is_root or own not in self._at_root:
            return None
        here = self._glance(own, self._at_root[own])
        for other in self._at_root:
            there, known = self._glance(other, self._at_root[own]), self._glance(other, entry)
            if here is not None and there is not None and known is not None:
                cost = here.cost + (known.cost - there.cost)
                return PricedWay(usual, np.asarray(cost), batch=known.batch)
        return None

    def _glance(self, state: int, entry: FuncSchedule) -> PricedWay | None:
        """The price of a way by usual numbers, if it has one."""
        found = self._priced.get((state, entry))
        return found if found is not None and found.way.whole and np.isfinite(found.cost) else None


def _place(way: OpenWay) -> _Place:
    return id(way.state.before), way.entry
