"""What a schedule is made of, seen from its records: names of ``group: name``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spaces import DomainOrder, Fuse, LoopKind, MemoryType, Partition, Schedule, Split
from spaces.model.schedules.derivations import Clone, RFactor, Wrap
from spaces.model.schedules.schedule import Bound, FuncSchedule

_ON_GPUS = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


def schedule_constructs(schedule: Schedule) -> frozenset[str]:
    """Constructs of a schedule, whatever pipeline it is for."""
    found: set[str] = set()
    for step in schedule.derivations:
        match step:
            case Wrap(consumers=consumers):
                found.add("directive: in" if consumers else "directive: in of all")
            case Clone():
                found.add("directive: clone_in")
            case RFactor():
                found.add("directive: rfactor")
    entries = {func.name: func for func in schedule.funcs}
    for func in schedule.funcs:
        found.update(_of_func(func))
        found.update(_of_nested_levels(func, entries))
    found.update(_on_the_host(schedule))
    return frozenset(found)


def _of_nested_levels(func: FuncSchedule, entries: Mapping[str, FuncSchedule]) -> Iterator[str]:
    """What is computed in loops of a Func that is computed in loops of another one."""
    reader = entries.get(func.compute.func)
    if func.compute.is_inline or func.compute.is_root or reader is None:
        return
    if reader.compute.is_inline or reader.compute.is_root:
        return
    yield "level: inside a level"
    if func.store != func.compute and func.store.func != func.compute.func:
        yield "level: stored outside of a level"


def _on_the_host(schedule: Schedule) -> Iterator[str]:
    """What is computed beside kernels: whole Funcs, pure stages, and updates."""
    at_root = [func for func in schedule.funcs if func.compute.is_root and func.stages]
    in_kernels = [[_is_kernel(order) for order in func.stages] for func in at_root]
    if not any(any(stages) for stages in in_kernels):
        return
    for first, *updates in in_kernels:
        if not first and not any(updates):
            yield "host: a Func"
        elif not first:
            yield "host: a pure stage"
        elif not all(updates):
            yield "host: an update"


def _is_kernel(order: DomainOrder) -> bool:
    return any(loop.kind in _ON_GPUS for loop in order.loops)


def _of_func(func: FuncSchedule) -> Iterator[str]:
    yield from _of_levels(func)
    yield from _of_storage(func)
    for companion in func.companions:
        yield "directive: compute_with"
        yield from (f"aligned: {align}" for _, align in companion.aligned)
    for special in func.specializations:
        yield "directive: specialize_fail" if special.failure else "directive: specialize"
    if func.atomic:
        yield "directive: atomic"
    for index, order in enumerate(func.stages):
        yield from _of_order(order, index > 0)


def _of_levels(func: FuncSchedule) -> Iterator[str]:
    if func.compute.is_inline:
        yield "level: inline"
        return
    yield "level: root" if func.compute.is_root else "level: at a loop"
    if func.store != func.compute:
        yield "level: stored outside"
    if not func.hoist.is_inline:
        yield "level: hoisted storage"


def _of_storage(func: FuncSchedule) -> Iterator[str]:
    if func.memory is not MemoryType.AUTO:
        yield f"memory: {func.memory}"
    for fold in func.folds:
        yield "directive: fold_storage" if fold.forward else "directive: fold_storage backward"
    if func.memoized:
        yield "directive: memoize"
    if func.ring is not None:
        yield "directive: ring_buffer"
    if func.asynchronous:
        yield "directive: async"
    if func.storage_orders:
        yield "directive: reorder_storage"
    if func.pads:
        yield "directive: align_storage"
    if func.storage_bounds:
        yield "directive: bound_storage"
    for bound in func.bounds:
        if isinstance(bound, Bound):
            yield "directive: bound" if bound.min is not None else "directive: bound_extent"
        else:
            extent = bound.remainder is None
            yield "directive: align_extent" if extent else "directive: align_bounds"


def _of_order(order: DomainOrder, update: bool) -> Iterator[str]:
    made: set[str] = set()
    for record in order.splits:
        match record:
            case Split(tail=tail, old=old):
                yield f"tail: {tail}"
                if old in ("__block", "__thread"):
                    yield "directive: split of one iteration"
                if old in made:
                    yield "directive: split of a split"
            case Fuse():
                yield "directive: fuse"
        made.update(record.made)
    for loop in order.loops:
        if loop.kind is not LoopKind.SERIAL:
            yield f"loop: {loop.kind}"
            if update:
                yield f"update loop: {loop.kind}"
        if loop.name in ("__block", "__thread"):
            yield f"single: {loop.name}"
    for one in order.partitions:
        if one.policy is not Partition.AUTO:
            yield f"partition: {one.policy}"
    if order.lanes:
        yield "directive: gpu_lanes"
    for fetched in order.prefetches:
        yield f"prefetch: {fetched.bound}"
