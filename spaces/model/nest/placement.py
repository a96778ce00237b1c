"""Where one Func is computed and stored in the nest, which boxes it provides, and its loops."""

from __future__ import annotations

from attrs import frozen

from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.interval import Box
from spaces.model.nest.demand import ALWAYS, Demand
from spaces.model.nest.sliding import Storage
from spaces.model.nest.traversal import LoopVar, Traversal


@frozen
class Placement:
    """One computed Func in the nest.

    Attributes:
        function: the Func, with inlined producers substituted.
        path: the loops around its computation.
        store_depth: how many of those loops are around its storage.
        demanded: the box its consumers read in one visit of its compute level.
        required: what explicit bounds make of it.
        storage: what it computes there and what it keeps.
        stages: the loops of each stage.
        when: in which iterations of the loops around it anything is asked for.
    """

    function: Function
    path: tuple[LoopVar, ...]
    store_depth: int
    demanded: Box
    required: Box
    storage: Storage
    stages: tuple[Traversal, ...]
    when: Expr = ALWAYS

    @property
    def between(self) -> tuple[LoopVar, ...]:
        """The loops between the storage and the computation, outermost first."""
        return self.path[self.store_depth :]


@frozen
class DemandSite:
    """Where a Func is computed, and what its readers demand there.

    Attributes:
        path: the loops around its computation.
        store_depth: how many of those loops are around its storage.
        demand: what they demand in one visit of its compute level.
    """

    path: tuple[LoopVar, ...]
    store_depth: int
    demand: Demand
