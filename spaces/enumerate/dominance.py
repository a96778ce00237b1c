"""Options of Funcs that others dominate: searches leave them out."""

from __future__ import annotations

from collections.abc import Collection

from spaces.cost.accesses import Course, stage_work
from spaces.enumerate.frontier import ResidualPath, depth_of, store_depths
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.inlining import inlined_functions
from spaces.model.schedules.schedule import Bound, FuncSchedule, LoopLevel, Schedule


def is_undominated(
    entry: FuncSchedule, path: ResidualPath, terms: Collection[LoopLevel] = ()
) -> bool:
    """Whether [S19] does not show the entry of a Func to be dominated. Windows that slide along
    the terms of a sum, and bounds of loops that are not unrolled, are left out, too.

    Args:
        entry: the entry, or a part of it.
        path: the loops around the uses of the Func.
        terms: the loops over terms of sums.
    """
    unrolled = {loop.name for loop in entry.stages[0].loops if loop.kind is LoopKind.UNROLLED}
    bounds = (one for one in entry.bounds if isinstance(one, Bound))
    if any(bound.dimension not in unrolled for bound in bounds):
        return False
    if entry.compute in terms and entry.store != entry.compute:
        return False
    compute = depth_of(path, entry.compute)
    following = path[compute].kind if 0 < compute < len(path) else None
    if following is LoopKind.VECTORIZED:
        return False
    stores = store_depths(path, compute)
    return compute == 0 or depth_of(path, entry.store) in (*stores[:2], stores[-1])


def is_read_once(pipeline: Pipeline, schedule: Schedule, buffer: str) -> bool:
    """Whether only one evaluation of one stage reads each value of ``buffer``: then reads do not
    overlap, and [S19] (Algorithm 1) and [S20] inline it.
    """
    works = [
        (stage, stage_work(stage))
        for function in inlined_functions(pipeline, schedule)
        for stage in function.stages
    ]
    readers = [(stage, work) for stage, work in works if work.reads(buffer)]
    if len(readers) != 1 or readers[0][1].reads(buffer) != 1:
        return False
    stage, work = readers[0]
    (access,) = (a for a in work.accesses if a.buffer == buffer)
    moved = [index.moves for index in access.indices if index.course is Course.AFFINE]
    moving = {moves[0][0] for moves in moved if len(moves) == 1 and abs(moves[0][1]) == 1}
    return moving >= set(stage.dimensions)
