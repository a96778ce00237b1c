"""Loads that wait for the stores just before them."""

from __future__ import annotations

from spaces.cost.cpu.term import DELAY, Core, Price, StageWork, term
from spaces.features.features import Features
from spaces.features.records import FuncFeatures, StageFeatures
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, where

STALL = Price("stall", 20.0, "waiting for stores that a load needs parts of")

_NEAR = 16
"""A stored vector is in the cache after this many more vectors."""


@term(DELAY, STALL)
def stalls(core: Core, of: StageWork) -> SymbolicNumber:
    """Waits for stores. A load of parts of two vectors waits until both are in the cache, if they
    were stored just before.

    This happens where a Func of few vectors is computed in the loops of a stage, and the stage
    reads it at several offsets along the lanes.
    """
    features, stage = of.features, of.stage
    times: SymbolicNumber = 0.0
    for func in features.funcs:
        if func.name != stage.func and func.depth > 0 and _is_read_across(features, stage, func):
            vectors = func.points / maximum(func.visits, 1) / func.stages[-1].lanes
            times = times + func.visits * where(vectors <= _NEAR, 1.0, 0.0)
    return core[STALL] * times


def _is_read_across(features: Features, stage: StageFeatures, func: FuncFeatures) -> bool:
    """Whether the lanes of a stage read a Func at several offsets along its rows."""
    if not func.args:
        return False
    row, lanes = features.order(func.name)[0], set(stage.vector_dimensions)
    read = [access.indices[row] for access in stage.work.accesses if access.buffer == func.name]
    return any(
        index.moved_by & lanes and (index.spread or index.moved_by & set(stage.reduced))
        for index in read
    )


TERMS = (stalls,)
