"""The sums in memory that a guard cuts off."""

from __future__ import annotations

from spaces.cost.cpu.term import DEPENDENCE, Core, Price, StageWork, term
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber, where
from spaces.model.schedules.domain_order import LoopKind

MASKED = Price(
    "masked",
    25.0,
    "from one term to the next of sums in memory whose vector a guard cuts off",
    "measured for rows of 24 to 56 integers in vectors of 16: 20 to 35 cycles on Emerald Rapids",
)


_NEAR = 16
"""A stored vector is in the cache after this many more vectors."""


@term(DEPENDENCE, MASKED)
def masked_sums(core: Core, of: StageWork) -> SymbolicNumber:
    """Terms of sums that are stored and loaded again with some lanes switched off. A core hands a
    vector that was stored whole to the next load at once. After a masked store the load waits until
    the vector is in the cache.
    """
    stage = of.stage
    if not any(one.buffer == stage.func and one.in_place for one in stage.work.accesses):
        return 0.0
    in_row = stage.guarded_lanes / stage.lanes
    is_near = in_row * _rows_between(of) <= _NEAR
    is_cut = (stage.guarded_lanes > stage.guarded_values) & is_near
    return core[MASKED] * of.vectors * of.written * where(is_cut, 1 / in_row, 0)


def _rows_between(of: StageWork) -> SymbolicNumber:
    """How many rows get a term before the first of them gets its next one."""
    stage, along = of.stage, set(of.stage.vector_dimensions)
    rows: SymbolicNumber = 1
    is_inside: SymbolicCondition = True
    for loop in reversed(stage.own):
        if loop.kind is LoopKind.VECTORIZED:
            continue
        if stage.work.written.isdisjoint(loop.dimensions):
            is_inside = is_inside & (loop.trips <= 1)
        elif along.isdisjoint(loop.dimensions):
            rows = rows * where(is_inside, loop.positive_trips, 1)
    return rows


TERMS = (masked_sums,)
