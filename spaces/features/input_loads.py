"""Loads of a buffer outside the cache, with and without a prefetcher: C of [S19] section 3."""

from __future__ import annotations

import numpy as np

from spaces.features.accesses import ReadGroup
from spaces.features.features import Features, read_extents
from spaces.features.records import StageFeatures, volume
from spaces.model.expressions.expr import Const, Expr
from spaces.model.formulas.symbolic import SymbolicNumber


def input_loads(
    features: Features, stage: StageFeatures, buffer: str, prefetched: bool = True
) -> SymbolicNumber:
    """Loads of ``buffer`` that ``stage`` causes outside the cache: C of [S19] (5), (6), (13).

    For each allocation of its Func, the stage loads everything that it reads once. All terms of a
    sum count together. With a streaming prefetcher, only the first element of a row counts if the
    innermost loop moves along the row.
    """
    func = features.func(stage.func)
    extents = {**dict(zip(func.args, func.stored, strict=True)), **stage.reduced_extents}
    loads: SymbolicNumber = 0
    for access in stage.work.accesses:
        if access.buffer == buffer:
            read = read_extents(access, extents)
            hidden = prefetched and walks_along_rows(features, stage, access)
            outer = tuple(read[d] for d in features.order(buffer)[1:])
            loads = loads + volume(outer if hidden else read)
    return loads * func.allocations


def walks_along_rows(features: Features, stage: StageFeatures, access: ReadGroup) -> bool:
    """Whether the innermost loop moves along the rows of the buffer. A loop that runs once in a
    typical visit, such as that of a window that slides by one value, does not count.
    """
    for loop in reversed(stage.loops):
        if not _runs_once(loop.trips):
            moved = features.moved_vars(stage, loop)
            along_rows = [access.indices[d] for d in features.order(access.buffer)[:1]]
            return any(index.step(var) for index in along_rows for var in moved)
    return True


def _runs_once(trips: SymbolicNumber) -> bool:
    if isinstance(trips, Expr):
        return isinstance(trips, Const) and trips.value == 1
    return bool(np.all(np.asarray(trips) == 1))
