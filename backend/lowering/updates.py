"""Which computations change an element in one step, because iterations at once may change it."""

from __future__ import annotations

from backend.program import Update
from spaces.constraints.hazards import racing_dimensions
from spaces.model.accumulation import accumulation
from spaces.model.placement import Bounds
from spaces.model.schedule import LoopKind
from spaces.model.splits import loop_dimensions


def update_of(bounds: Bounds, func: str, stage: int) -> Update | None:
    """How an atomic stage changes an element, where it has loops at once along which an element
    changes again; else None.
    """
    entry = bounds.schedule.of(func)
    if stage not in entry.atomic:
        return None
    function = bounds.placements[func].function
    reduced = accumulation(function, stage)
    walks = loop_dimensions(function.stages[stage], entry.stages[stage])
    racing = racing_dimensions(function, stage)
    kinds = {
        loop.kind for loop in entry.stages[stage].loops if racing.intersection(walks[loop.name])
    }
    if reduced is None or not kinds & {LoopKind.PARALLEL, LoopKind.VECTORIZED}:
        return None
    return Update(reduced.operators[0], shared=LoopKind.PARALLEL in kinds)
