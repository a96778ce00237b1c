"""Which computations must change an element in one atomic step, because concurrent iterations may
change it.
"""

from __future__ import annotations

from spaces.backend.ir.statements import Update
from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.splits import loop_dimensions
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.reductions.accumulation import accumulation


def updates_of(bounds: Bounds, func: str, stage: int) -> tuple[Update, ...]:
    """How an atomic stage changes each component of an element. Empty unless the stage has
    concurrent loops whose iterations may change the same element.
    """
    entry = bounds.schedule.of(func)
    if stage not in entry.atomic:
        return ()
    function = bounds.placements[func].function
    reduced = accumulation(function, stage)
    walks = loop_dimensions(function.stages[stage], entry.stages[stage])
    racing = racing_dimensions(function, stage)
    kinds = {
        loop.kind for loop in entry.stages[stage].loops if racing.intersection(walks[loop.name])
    }
    shared = any(kind.uses_threads for kind in kinds)
    if reduced is None or not (shared or LoopKind.VECTORIZED in kinds):
        return ()
    return tuple(Update(operator, shared) for operator in reduced.operators)
