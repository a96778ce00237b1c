"""Funcs whose loops are fused by ``compute_with``: which, and whether they can stand together."""

from __future__ import annotations

from collections.abc import Sequence

from spaces.model.pipeline import Pipeline
from spaces.model.schedule import Schedule


def companions(schedule: Schedule) -> dict[str, str]:
    """For each Func that is computed with another one that other."""
    return {f.name: f.companion.func for f in schedule.funcs if f.companion is not None}


def chain(pairs: dict[str, str], func: str) -> tuple[str, ...]:
    """A Func, the one that it is computed with, the one that this is computed with, and so on; up
    to where it begins anew.
    """
    found = [func]
    while found[-1] in pairs and pairs[found[-1]] not in found:
        found.append(pairs[found[-1]])
    return tuple(found)


def groups(schedule: Schedule) -> tuple[tuple[str, ...], ...]:
    """The Funcs that are computed with each other: last the one that others are computed with, and
    before it each behind all that are computed with it.
    """
    pairs = companions(schedule)
    chains = [chain(pairs, child) for child in pairs]
    roots = dict.fromkeys(c[-1] for c in chains if c[-1] not in pairs)
    return tuple(
        (*(c[0] for c in sorted(chains, key=len, reverse=True) if c[-1] == root), root)
        for root in roots
    )


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
    pipeline: Pipeline, names: Sequence[str], group: Sequence[str]
) -> tuple[str, ...] | None:
    """``names``, producers first, with those of ``group`` one right after the other and every Func
    still behind all that it reads; None where there is no such order.
    """
    places = [list(names).index(name) for name in group]
    low, high = min(places), max(places)
    between = [name for name in names[low:high] if name not in group]
    later = [name for name in between if any(depends(pipeline, name, one) for one in group)]
    if any(depends(pipeline, one, name) for one in group for name in later):
        return None
    sooner = [name for name in between if name not in later]
    return (*names[:low], *sooner, *group, *later, *names[high + 1 :])
