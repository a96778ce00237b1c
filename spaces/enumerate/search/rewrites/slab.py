"""Nests of a found schedule that run in slabs after all.

A search decides the loops of a Func before its producers. So it can't see that one of them, at root
in the end, is larger than all caches. A slab is a strip across the rows of the reader with all of
its lines: if the reader runs slab after slab, and each computes its part of the producer, that part
may still be in a cache when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from attrs import evolve

from spaces.constraints.devices.device import CpuDevice
from spaces.enumerate.search.events import Event
from spaces.enumerate.search.judging import is_clearly_cheaper
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs, nests_of_readers
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.by_name import INNER_PATTERNS
from spaces.enumerate.space.patterns.menus import stage_patterns, stage_shapes
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, Fuse, LoopKind, OrderedLoop, Split
from spaces.model.schedules.schedule import LoopLevel, Schedule

_BLOCKS = (2, 4, 8)
"""How many iterations of the loop along rows a slab may have."""


def in_slabs_after_all(pricer: Pricer, most: float = math.inf) -> Iterator[Event]:
    """Puts one nest after the other of the best schedule of a board into slabs, and offers the
    result where it is cheaper and in the space. It tries each nest that is the only reader of a
    Func at root which no cache holds.

    Args:
        pricer: the pricer of a space that decides the loops of Funcs one by one.
        most: the work of the board (:attr:`Board.work`) at which it ends.

    Raises:
        OutOfTime: the search is at its end.
    """
    space, board, device = pricer.space, pricer.board, pricer.space.device
    if not (board.best and space.decides_loops and isinstance(device, CpuDevice)):
        return
    schedule = board.best[0].schedule
    if any(entry.companions for entry in schedule.funcs):  # loops of others need its loops
        return
    pipeline, cached = derived(space.pipeline, schedule), _cached_bytes(device)
    least, tried = math.inf, set(space.kept_names)
    while True:
        large = _read_by_one_nest(pipeline, schedule, cached, space.kept_names)
        reader = next((one for one in large if one not in tried), None)
        if reader is None or board.work >= most:
            return
        tried.add(reader)
        if least == math.inf:
            with board.deadline.kept():  # the cost of a choice of a structure may be another one
                least = pricer.price_schedule(schedule)
        for structure in _in_slabs(space, pipeline, schedule, reader, large[reader]):
            with board.deadline.kept():
                found = pricer.cheapest(structure)
                if found is None:
                    continue
                if not is_clearly_cheaper(found.cost, least) or found.schedule not in space:
                    continue
            schedule, least = found.schedule, found.cost
            yield from board.offer(found)


def _cached_bytes(cpu: CpuDevice) -> int:
    """What the largest cache holds."""
    return max(cpu.l1_bytes, cpu.l2_bytes, cpu.l3_bytes)


def _read_by_one_nest(
    pipeline: Pipeline, schedule: Schedule, least: int, kept: Collection[str]
) -> dict[str, list[str]]:
    """The Funcs at root that are larger than a number of bytes and that a single other nest reads.
    The key is the Func whose nest this is, consumers first. Leaves out Funcs that have other Funcs
    in their loops, and those to keep.
    """
    entries = {entry.name: entry for entry in schedule.funcs}
    nests = nests_of_funcs(pipeline, entries)
    used = {level.func for entry in schedule.funcs for level in (entry.compute, entry.store)}
    found: dict[str, list[str]] = {}
    for name in nests:
        if not entries[name].compute.is_root or {name} & {*pipeline.outputs, *used, *kept}:
            continue
        readers = nests_of_readers(pipeline, nests, name)
        if len(readers) == 1 and _bytes(pipeline, name) > least:
            (reader,) = readers
            found.setdefault(reader, []).append(name)
    return found


def _bytes(pipeline: Pipeline, name: str) -> float:
    """The bytes of a Func at root at the estimates; 0 where its size is not known."""
    function, sizes = pipeline.function(name), sizes_of(pipeline)
    extents = (sizes.extent(name, arg) or 0 for arg in function.args)
    return math.prod(extents) * sum(one.bytes for one in function.types)


def _in_slabs(
    space: ScheduleSpace, pipeline: Pipeline, schedule: Schedule, reader: str, names: list[str]
) -> Iterator[Structure]:
    """The schedule with a nest in slabs that compute their parts of some Funcs: of each iteration
    of the other serial loops, such as those over channels, or of all iterations together.
    """
    entry, args = schedule.of(reader), pipeline.function(reader).args
    if not args or len(entry.stages) > 1:
        return
    row, *others = args
    loops = {loop.name: loop.kind for loop in entry.stages[0].loops}
    apart = tuple(one for one in others if loops.get(one) is LoopKind.SERIAL)
    shared = [name for name, kind in loops.items() if kind is LoopKind.PARALLEL]
    if loops.get(row) is not LoopKind.SERIAL or len(shared) != 1:
        return
    shapes = stage_shapes(pipeline, space.device, Options.medium(space.device))
    taken = {*others, *loops, *(name for one in entry.stages[0].splits for name in one.made)}
    slab = f"{row}s"
    while slab in taken:
        slab += "s"
    for fused in dict.fromkeys((apart, ())):
        levels = [LoopLevel(reader, name) for name in fused]
        if any(one.compute in levels or one.store in levels for one in schedule.funcs):
            continue
        width = f"{reader}_{slab}"
        order = _slabs(entry.stages[0], Split(row, slab, row, width), fused)
        menus: dict[str, tuple[int, ...]] = {width: _BLOCKS}
        changed = [evolve(entry, stages=(order,))]
        for name in names:
            made, _ = stage_patterns("vectors", INNER_PATTERNS["vectors"], shapes[name])
            menus |= {key: menu for pattern in made for key, menu in pattern.menus}
            level = LoopLevel(reader, slab)
            stages = tuple(pattern.order for pattern in made)
            whole = schedule.of(name)  # bounds may hold for it at root alone
            changed.append(evolve(whole, stages=stages, compute=level, store=level, bounds=()))
        by_name = {one.name: one for one in changed}
        funcs = tuple(by_name.get(one.name, one) for one in schedule.funcs)
        yield Structure(schedule.with_funcs(funcs), menus)


def _slabs(order: DomainOrder, cut: Split, fused: tuple[str, ...]) -> DomainOrder:
    """A domain order in slabs that run in parallel.

    Args:
        order: the domain order without them.
        cut: the split into slabs.
        fused: the loops that run together with the one over slabs.
    """
    slab = cut.outer
    inner = (
        OrderedLoop(loop.name, LoopKind.SERIAL if loop.kind is LoopKind.PARALLEL else loop.kind)
        for loop in order.loops
        if loop.name not in fused
    )
    splits = (*order.splits, cut, *(Fuse(name, slab, slab) for name in fused))
    loops = (OrderedLoop(slab, LoopKind.PARALLEL), *inner)
    return evolve(order, splits=splits, loops=loops)
