"""Options of Funcs that others dominate: searches leave them out."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from spaces.enumerate.space.frontier import ResidualPath, depth_of, store_depths
from spaces.features.accesses import Course
from spaces.features.work import stage_work
from spaces.model.algorithm.pipeline import Pipeline, Stage
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.inlining import inlined_functions
from spaces.model.schedules.schedule import Bound, FuncSchedule, LoopLevel, Schedule


def is_undominated(
    entry: FuncSchedule, path: ResidualPath, terms: Collection[LoopLevel] = ()
) -> bool:
    """Whether a search keeps the entry of a Func. It does if [S19] does not show that another entry
    dominates it, no window slides along the terms of a sum, and explicit bounds are only those of
    unrolled loops.

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
    readers = _readers(pipeline, schedule, buffer)
    if len(readers) != 1 or stage_work(readers[0][2]).reads(buffer) != 1:
        return False
    *_, stage = readers[0]
    (access,) = (a for a in stage_work(stage).accesses if a.buffer == buffer)
    moved = [index.moves for index in access.indices if index.course is Course.AFFINE]
    moving = {moves[0][0] for moves in moved if len(moves) == 1 and abs(moves[0][1]) == 1}
    return moving >= set(stage.dimensions)


def is_read_in_lanes(pipeline: Pipeline, schedule: Schedule, buffer: str) -> bool:
    """Whether all stages that read ``buffer`` have vectorized loops: then an inlined Func has them,
    too, and without storage it loses nothing.
    """
    for name, index, _ in _readers(pipeline, schedule, buffer):
        loops = schedule.of(name).stages[index].loops
        if not any(loop.kind is LoopKind.VECTORIZED for loop in loops):
            return False
    return True


def is_read_in_threads(
    pipeline: Pipeline, entries: Mapping[str, FuncSchedule], buffer: str
) -> bool:
    """Whether a thread of a GPU computes a Func for itself that reads ``buffer``: neighboring
    threads compute the same values again, and with them what is inlined.
    """
    for reader in pipeline.consumers(buffer):
        entry = entries.get(reader)
        if entry is None or reader == buffer:
            continue
        if entry.compute.is_inline:
            if is_read_in_threads(pipeline, entries, reader):
                return True
        elif _is_in_thread(entries, entry):
            return True
    return False


def _is_in_thread(entries: Mapping[str, FuncSchedule], entry: FuncSchedule) -> bool:
    """Whether a loop over threads is around the computation of a Func."""
    while not entry.compute.is_root:
        level = entry.compute
        entry = entries[level.func]
        for order in entry.stages:
            names = [loop.name for loop in order.loops]
            around = order.loops[: names.index(level.loop) + 1] if level.loop in names else ()
            if any(loop.kind is LoopKind.GPU_THREAD for loop in around):
                return True
    return False


def _readers(pipeline: Pipeline, schedule: Schedule, buffer: str) -> list[tuple[str, int, Stage]]:
    """The stages that read a buffer, with inlined Funcs in them: Func, number and definition."""
    return [
        (function.name, index, stage)
        for function in inlined_functions(pipeline, schedule)
        for index, stage in enumerate(function.stages)
        if stage_work(stage).reads(buffer)
    ]
