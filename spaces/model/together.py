"""Funcs whose loops are fused by ``compute_with``: which, and whether they can stand together."""

from __future__ import annotations

from collections.abc import Sequence

from spaces.model.pipeline import Pipeline
from spaces.model.schedule import Schedule


def companions(schedule: Schedule) -> dict[str, str]:
    """For each Func that is computed with another one that other."""
    return {f.name: f.companion.func for f in schedule.funcs if f.companion is not None}


def depends(pipeline: Pipeline, reader: str, read: str) -> bool:
    """Whether a Func reads another, directly or through others."""
    known, found = {f.name: f for f in pipeline.functions}, set[str]()
    open_ = [reader]
    while open_:
        function = known.get(open_.pop())
        callees = [] if function is None else [c for c in function.callees if c not in found]
        found.update(callees)
        open_ += callees
    return read in found and reader != read


def in_turn(
    pipeline: Pipeline, names: Sequence[str], child: str, parent: str
) -> tuple[str, ...] | None:
    """``names``, producers first, with ``child`` just before ``parent`` and every Func still behind
    all that it reads; None where there is no such order.
    """
    first, second = sorted((child, parent), key=list(names).index)
    low, high = list(names).index(first), list(names).index(second)
    between = list(names[low + 1 : high])
    pair = [child, parent]
    if not any(depends(pipeline, one, first) for one in between):
        middle = [*between, *pair]
    elif not any(depends(pipeline, second, one) for one in between):
        middle = [*pair, *between]
    else:
        return None
    return (*names[:low], *middle, *names[high + 1 :])
