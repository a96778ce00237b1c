"""The costs of ways to decide a Func that follow from the costs of other ways.

Most ways need a loop nest and a price of their own. If a model adds up the costs of nests, two
kinds do not:

- A Func at root has a nest of its own. What its loops are worth is the same whatever its readers
  do, so the search compares them after one state only. The usual numbers suffice for this: the
  search prices again what it keeps.
- An explicit bound that is what the readers demand anyway changes no loop nest. It is wanted only
  if the same way without it is illegal: if it unrolls a loop whose extent is not constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from attrs import define, evolve, field

from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.state import OpenWay, PricedWay
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.nest.splits import loop_dimensions
from spaces.model.schedules.schedule import Bound, FuncSchedule

_Decision: TypeAlias = tuple[int, FuncSchedule]
"""A state, by its identity, and how it decides the next Func."""


@define
class KnownCosts:
    """Prices the ways to decide a Func one by one.

    Attributes:
        task: what the steps of the search share.
        part: the pipeline of all decided Funcs.
    """

    task: StageDecisions
    part: Pipeline
    _priced: dict[_Decision, PricedWay] = field(init=False, factory=dict)
    _at_root: dict[int, FuncSchedule] = field(init=False, factory=dict)
    _bounded: dict[_Decision, OpenWay] = field(init=False, factory=dict)

    def __call__(self, way: OpenWay) -> PricedWay | None:
        """A way with its cost for the usual numbers, or for all numbers if the usual ones give no
        cost. None if the way has no loop nest, or if it is wanted only where the same way without
        bounds is illegal.
        """
        if not self._tells_others(way):
            return self.task.prices.price_usual_numbers(self.part, way)
        state, entry = decision = _decision(way)
        if self._is_unbounded_alike(way):
            self._bounded[state, evolve(entry, bounds=())] = way
            return None
        found = self._of_other_state(way) or self.task.prices.price_usual_numbers(self.part, way)
        if found is not None:
            self._priced[decision] = found
            if entry.compute.is_root:
                self._at_root.setdefault(state, entry)
        return found

    def add_bounded_ways(self, found: Iterable[PricedWay]) -> list[PricedWay]:
        """The priced ways. Each also gets the same way with bounds, if there is one, for the case
        that it is illegal itself.
        """
        bounded = self._bounded
        return [evolve(one, otherwise=bounded.get(_decision(one.way))) for one in found]

    def _tells_others(self, way: OpenWay) -> bool:
        """Whether the cost of a way may tell that of others: not if Funcs share loops."""
        entries = way.state.partial.state.entries
        return self.task.pricer.adds_nests and not any(one.companions for one in entries)

    def _is_unbounded_alike(self, way: OpenWay) -> bool:
        """Whether its explicit bounds equal what is required without them, and all loops along the
        bounded dimensions are written out in any case.
        """
        (state, entry), process = _decision(way), way.state.partial.state
        function = process.pipeline.function(entry.name)
        bounds = [one for one in entry.bounds if isinstance(one, Bound)]
        if not bounds or len(bounds) < len(entry.bounds):
            return False
        found = self._price_known(state, evolve(entry, bounds=()))
        if found is None or not all(_is_written_out(function, entry, one) for one in bounds):
            return False
        if entry.compute.is_root:  # there all of it is required
            return all(
                process.sizes.extent(entry.name, one.dimension) == one.extent for one in bounds
            )
        features = self.task.prices.read_features(self.part, found.way)
        if features is None:
            return False
        required = features.func(entry.name).required
        extents = dict(zip(function.args, required, strict=True))
        return all(np.all(extents[one.dimension] == one.extent) for one in bounds)

    def _of_other_state(self, way: OpenWay) -> PricedWay | None:
        """A way at root. Its cost follows from the same way after another state and from the
        difference between the states. None if they do not determine it.
        """
        (own, entry), usual = _decision(way), way.usual
        common = self._at_root.get(own)
        if usual.whole is None or not entry.compute.is_root or common is None:
            return None
        if evolve(entry, stages=common.stages, bounds=common.bounds) != common:
            return None  # readers see another storage
        here = self._price_known(own, common)
        for other in self._at_root:
            there, known = self._price_known(other, common), self._price_known(other, entry)
            if here is not None and there is not None and known is not None:
                return PricedWay(usual, np.asarray(here.cost + (known.cost - there.cost)))
        return None

    def _price_known(self, state: int, entry: FuncSchedule) -> PricedWay | None:
        """A way with a price by one choice of numbers, if there is one."""
        found = self._priced.get((state, entry))
        is_single = found is not None and found.costs.size == 1 and np.isfinite(found.cost)
        return found if is_single else None


def _decision(way: OpenWay) -> _Decision:
    return id(way.state.before), way.entry


def _is_written_out(function: Function, entry: FuncSchedule, bound: Bound) -> bool:
    """Whether all loops along a bound are unrolled or vectorized: others may cost less where their
    extent is constant.
    """
    return all(
        loop.kind.has_constant_extent
        for stage, order in zip(function.stages, entry.stages, strict=True)
        for loop in order.loops
        if bound.dimension in loop_dimensions(stage, order).get(loop.name, ())
    )
