"""Prices and judges ways to decide a Func."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.device_policy import DevicePolicy
from spaces.enumerate.search.stagewise.state import OpenWay, PricedWay
from spaces.enumerate.space.structure import Structure
from spaces.features.features import Features
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, of_constant_extent

JUDGED_ALONE = 8
"""How many choices of a structure are judged one by one if none is legal with open numbers. Some
extents are known to be constant only with numbers, and some reads to end in time. Examples are the
threads of a Func that a block computes for its tile, and sizes that are no multiple of a vector.
"""


@frozen
class WayPrices:
    """Prices and judges the ways of one search.

    Attributes:
        pricer: the pricer of a space of whole patterns.
        policy: that of the device.
    """

    pricer: Pricer
    policy: DevicePolicy

    def price_way(self, part: Pipeline, way: OpenWay) -> PricedWay | None:
        """A way with its costs; None if no choice has a finite one.

        Args:
            part: the pipeline of all decided Funcs.
            way: the way.
        """
        return self._with_costs(way, self.pricer.price_structure(way.to_price, _nests(part, way)))

    def price_all_numbers(self, part: Pipeline, priced: PricedWay) -> PricedWay | None:
        """A way that was priced with usual numbers, with its costs for all numbers. The funnel of
        the search counts its structure once.
        """
        whole = priced.way.whole
        if whole is None:
            return priced
        found = self._reprice(part, whole)
        return None if found is None else evolve(found, otherwise=priced.otherwise)

    def _reprice(self, part: Pipeline, way: OpenWay) -> PricedWay | None:
        return self._with_costs(way, self.pricer.reprice_structure(way.to_price, _nests(part, way)))

    def _with_costs(self, way: OpenWay, costs: NDArray[np.float64]) -> PricedWay | None:
        if not np.isfinite(costs).any():
            return None
        return PricedWay(way, way.others + costs, is_legal=not self.is_doubtful(way))

    def read_features(self, part: Pipeline, way: OpenWay) -> Features | None:
        """The features of the nests that a way changes; None if they have no loop nest."""
        return self.pricer.read_features(way.to_price, _nests(part, way))

    def price_usual_numbers(self, part: Pipeline, way: OpenWay) -> PricedWay | None:
        """A way with its cost for the usual numbers of the device, or for all if it has none for
        these; None if it has no cost at all.
        """
        usual = self.policy.choose_usual(way)
        found = self.price_way(part, usual)
        if found is None and usual.whole is not None:
            found = self._reprice(part, usual.whole)
        return None if found is None else self.policy.leave_out_far(found)

    def judge_way(self, part: Pipeline, way: PricedWay) -> PricedWay:
        """The way with an infinite cost for each choice that is illegal, or that the restrictions
        leave out.
        """
        costs = self.pricer.keep_legal(way.structure, way.costs, part)
        if not np.isfinite(costs).any():
            costs = self._judge_alone(part, way)
        return evolve(way, costs=costs, is_legal=True)

    def _judge_alone(self, part: Pipeline, way: PricedWay) -> NDArray[np.float64]:
        """The costs of the first legal one of the cheapest choices, each judged with its numbers.
        All other choices cost infinitely much.
        """
        costs = np.full(way.costs.shape, np.inf)
        for index in np.argsort(way.costs, axis=None, kind="stable")[:JUDGED_ALONE]:
            alone = Structure(way.structure.at(int(index)), {})
            cost = self.pricer.keep_legal(alone, np.array(way.costs.flat[index]), part)
            if np.isfinite(cost):
                costs.flat[index] = cost
                break
        return costs

    def is_doubtful(self, way: OpenWay) -> bool:
        """Whether a way needs a verdict before the search goes on with it. Complete schedules get
        one in any case; most that are illegal unroll loops whose extents are not constant, run them
        on threads, or store arrays of such extents in kernels.
        """
        space, pipeline = self.pricer.space, way.state.partial.state.pipeline
        if space.where or space.sizes or not self.pricer.adds_nests:
            return True
        if way.decided[-1] in pipeline.outputs:  # tiles may be longer than an output
            return True
        if self.policy.needs_verdict(way):
            return True
        entry, sizes = way.entry, way.state.partial.state.sizes
        constant = sizes.constant.get(entry.name, frozenset())
        return any(_has_open_extents(order, constant) for order in entry.stages)


def _nests(part: Pipeline, way: OpenWay) -> Pipeline:
    """The pipeline of what is priced of a way: of all decided Funcs, or of the nests it changes."""
    return part if way.changed is None else way.changed.pipeline


def _has_open_extents(order: DomainOrder, dimensions: Collection[str]) -> bool:
    """Whether an unrolled loop or a thread loop may have an extent that is no constant.

    Args:
        order: the loops of a stage.
        dimensions: those of its Func that have a constant extent.
    """
    constant = of_constant_extent(dimensions, order.splits)
    return any(
        loop.kind in (LoopKind.UNROLLED, LoopKind.GPU_THREAD) and loop.name not in constant
        for loop in order.loops
    )
