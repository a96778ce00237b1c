"""Runs nests of a found schedule in strips of rows.

A search decides the loops of a Func before its producers. So it can't see that one of them, at root
in the end, is larger than all caches. A strip is a few columns of the reader with all of its rows.
The reader runs strip after strip, and each computes its part of the producer. That part may still
be in a cache when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from attrs import evolve, frozen

from spaces.constraints.devices.device import CpuDevice
from spaces.enumerate.search.rewrites.for_device import for_cpus
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenNumbers, Rewrite
from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs, nests_of_readers
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.by_name import INNER_PATTERNS
from spaces.enumerate.space.patterns.menus import stage_patterns
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import DomainOrder, Fuse, LoopKind, OrderedLoop, Split
from spaces.model.schedules.schedule import LoopLevel

_BLOCKS = (2, 4, 8)
"""How many iterations of the loop along rows a strip may have."""


@frozen
class RunInStrips:
    """Runs one nest in strips, and in each of them a part of what it reads.

    Attributes:
        reader: the Func whose nest this is.
        cached: the bytes that the largest cache holds.
    """

    keeps_structure: ClassVar[bool] = False

    reader: str
    cached: int

    def open(self, found: FoundSchedule) -> Iterator[OpenNumbers]:
        """The schedule with the nest in strips: of each iteration of the other serial loops, such
        as those over channels, or of all iterations together. Leaves out what the space lacks.
        """
        large = _large_producers(found, self.cached)
        if self.reader in large:
            for opening in _in_strips(found, self.reader, large[self.reader]):
                if opening.structure(found).at(0) in found.space:
                    yield opening


@for_cpus
def find_strips(found: FoundSchedule, cpu: CpuDevice) -> Iterator[Rewrite]:
    """The nests that are the only readers of Funcs at root which no cache holds. None if Funcs
    share loops, or if the space does not decide the loops of Funcs one by one.
    """
    space, schedule = found.space, found.schedule
    shares_loops = any(entry.companions for entry in schedule.funcs)
    if not shares_loops and space.decides_loops:
        cached = max(cpu.l1_bytes, cpu.l2_bytes, cpu.l3_bytes)
        for reader in _large_producers(found, cached):
            if reader not in space.kept_names:
                yield RunInStrips(reader, cached)


def _large_producers(found: FoundSchedule, least: int) -> dict[str, list[str]]:
    """The Funcs at root that are larger than a number of bytes and that a single other nest reads.
    The key is the Func whose nest this is, consumers first. Leaves out Funcs that have other Funcs
    in their loops, and those that the space keeps.
    """
    pipeline, schedule, kept = found.pipeline, found.schedule, found.space.kept_names
    entries = {entry.name: entry for entry in schedule.funcs}
    nests = nests_of_funcs(pipeline, entries)
    used = {level.func for entry in schedule.funcs for level in (entry.compute, entry.store)}
    large: dict[str, list[str]] = {}
    for name in nests:
        if not entries[name].compute.is_root or {name} & {*pipeline.outputs, *used, *kept}:
            continue
        readers = nests_of_readers(pipeline, nests, name)
        if len(readers) == 1 and _bytes(pipeline, name) > least:
            (reader,) = readers
            large.setdefault(reader, []).append(name)
    return large


def _bytes(pipeline: Pipeline, name: str) -> float:
    """The bytes of a Func at root at the estimates; 0 where its size is not known."""
    function, sizes = pipeline.function(name), sizes_of(pipeline)
    extents = (sizes.extent(name, arg) or 0 for arg in function.args)
    return math.prod(extents) * sum(one.bytes for one in function.types)


def _in_strips(found: FoundSchedule, reader: str, names: list[str]) -> Iterator[OpenNumbers]:
    """The schedule with a nest in strips that compute their parts of some Funcs."""
    space, pipeline, schedule = found.space, found.pipeline, found.schedule
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
    strip = f"{row}s"
    while strip in taken:
        strip += "s"
    for fused in dict.fromkeys((apart, ())):
        levels = [LoopLevel(reader, name) for name in fused]
        if any(one.compute in levels or one.store in levels for one in schedule.funcs):
            continue
        width = f"{reader}_{strip}"
        order = _cut_into_strips(entry.stages[0], Split(row, strip, row, width), fused)
        menus: dict[str, tuple[int, ...]] = {width: _BLOCKS}
        changed = [evolve(entry, stages=(order,))]
        for name in names:
            made, _ = stage_patterns("vectors", INNER_PATTERNS["vectors"], shapes[name])
            menus |= {key: menu for pattern in made for key, menu in pattern.menus}
            level = LoopLevel(reader, strip)
            stages = tuple(pattern.order for pattern in made)
            whole = schedule.of(name)  # bounds may hold for it at root alone
            changed.append(evolve(whole, stages=stages, compute=level, store=level, bounds=()))
        by_name = {one.name: one for one in changed}
        funcs = tuple(by_name.get(one.name, one) for one in schedule.funcs)
        yield OpenNumbers(schedule.with_funcs(funcs), menus)


def _cut_into_strips(order: DomainOrder, cut: Split, fused: tuple[str, ...]) -> DomainOrder:
    """A domain order in strips that run in parallel.

    Args:
        order: the domain order without them.
        cut: the split into strips.
        fused: the loops that run together with the one over strips.
    """
    strip = cut.outer
    inner = (
        OrderedLoop(loop.name, LoopKind.SERIAL if loop.kind is LoopKind.PARALLEL else loop.kind)
        for loop in order.loops
        if loop.name not in fused
    )
    splits = (*order.splits, cut, *(Fuse(name, strip, strip) for name in fused))
    loops = (OrderedLoop(strip, LoopKind.PARALLEL), *inner)
    return evolve(order, splits=splits, loops=loops)


REWRITES = (find_strips,)
