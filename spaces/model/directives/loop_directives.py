"""Directives about the loops of the selected stage: split, reorder, vectorize and the like."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Self

import attrs
from attrs import frozen

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.directives.declaration import directive
from spaces.model.directives.directive_arguments import (
    Name,
    Tile,
    factor_of,
    member_of,
    name_of,
    tile_arguments,
    whole_of,
)
from spaces.model.directives.selection import Selection
from spaces.model.schedules.domain_order import (
    SINGLE_THREAD,
    DomainOrder,
    Factor,
    Fuse,
    Lanes,
    LoopKind,
    OrderedLoop,
    Partition,
    Partitioned,
    Prefetch,
    PrefetchBound,
    Split,
    Tail,
)


@frozen
class LoopDirectives(Selection):
    """Directives that change the domain order of the selected stage."""

    @directive(Split)
    def split(
        self, old: Name, outer: Name, inner: Name, factor: Factor, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Split loop ``old``: ``inner`` has ``factor`` iterations, ``outer`` counts them."""
        record = Split(
            name_of(old), name_of(outer), name_of(inner), factor_of(factor), member_of(Tail, tail)
        )
        order = self._order
        kind, policy = order.kind(record.old), order.partition(record.old)
        parts = (OrderedLoop(record.outer, kind), OrderedLoop(record.inner, kind))
        are_lanes = Lanes(record.old) in order.lanes
        policies = [Partitioned(name, policy) for name in (record.outer, record.inner)]
        return self._with_order(
            DomainOrder(
                (*order.splits, record),
                _replaced(order.loops, record.old, parts),
                (*_without(order.partitions, record.old), *policies),
                order.prefetches,
                (*order.lanes, *(Lanes(name) for name in record.made if are_lanes)),
            )
        )

    @directive(Fuse)
    def fuse(self, inner: Name, outer: Name, fused: Name) -> Self:
        """Make one loop of two; it stands where ``inner`` stood and keeps its kind."""
        record = Fuse(name_of(inner), name_of(outer), name_of(fused))
        loops = tuple(loop for loop in self._order.loops if loop.name != record.outer)
        kind, policy = self._order.kind(record.inner), self._order.partition(record.inner)
        policies = _without(self._order.partitions, record.inner, record.outer)
        are_lanes = Lanes(record.inner) in self._order.lanes
        return self._with_order(
            DomainOrder(
                (*self._order.splits, record),
                _replaced(loops, record.inner, (OrderedLoop(record.fused, kind),)),
                (*policies, Partitioned(record.fused, policy)),
                self._order.prefetches,
                (*self._order.lanes, *((Lanes(record.fused),) if are_lanes else ())),
            )
        )

    @directive()
    def rename(self, old: Name, new: Name) -> Self:
        """Give another name to a loop that a split or fuse has made.

        Raises:
            TypeError: none of the stage has made it, or another loop has the new name.
        """
        order, before, after = self._order, name_of(old), name_of(new)
        if before != after and {before, after} <= set(order.names):
            raise TypeError(
                f"rename gives {before} of {self.selected} the name {after}, but {self.selected} "
                f"has a loop {after} already; choose a name that none of its loops has."
            )
        made = [n for n, record in enumerate(order.splits) if before in record.made]
        if not made or before not in order.names:
            raise TypeError(
                f"rename names {before} of {self.selected}, which no split, tile or fuse has made; "
                f"rename such a loop, or split {before} under the new name."
            )
        if after != before and after in _names_beside(order, made[-1], before):
            raise TypeError(
                f"rename gives {before} of {self.selected} the name {after}, which another of its "
                "loops has had since; choose a name that none of its loops has had."
            )
        return self._with_order(_renamed(order, made[-1], before, after))

    @directive(Partitioned, shown={"policy": Partition.NEVER.qualified})
    def partition(self, loop: Name, policy: Partition | str) -> Self:
        """Say whether a loop is divided at the points where tests on its variable change. Loops
        made from it later get the same policy.
        """
        one = Partitioned(name_of(loop), member_of(Partition, policy))
        changed = (*self._order.partitions, one)
        return self._with_order(attrs.evolve(self._order, partitions=changed))

    @directive()
    def never_partition(self, *loops: Name) -> Self:
        """Leave loops whole: less code, which tests in each iteration."""
        return self._partition_all(loops, Partition.NEVER)

    @directive()
    def always_partition(self, *loops: Name) -> Self:
        """Divide loops at the points where tests change, also loops without vectors inside."""
        return self._partition_all(loops, Partition.ALWAYS)

    @directive()
    def never_partition_all(self) -> Self:
        """Leave all loops of the stage whole."""
        return self._partition_all(self._order.names, Partition.NEVER)

    @directive()
    def always_partition_all(self) -> Self:
        """Divide all loops of the stage at the points where tests change."""
        return self._partition_all(self._order.names, Partition.ALWAYS)

    def _partition_all(self, loops: Sequence[Name], policy: Partition) -> Self:
        result = self
        for loop in loops:
            result = result.partition(loop, policy)
        return result

    @directive(
        Prefetch,
        shown={"origin": "from", "bound": PrefetchBound.GUARD_WITH_IF.qualified},
        written=("offset",),
    )
    def prefetch(
        self,
        target: str | Func | ImageParam,
        at: Name,
        origin: Name,
        offset: int = 1,
        bound: PrefetchBound | str = PrefetchBound.GUARD_WITH_IF,
    ) -> Self:
        """At the beginning of each iteration of the first loop, load into the cache what its body
        reads of an image or a Func ``offset`` iterations of the second loop later. The strategy
        decides what happens beyond the end of that loop.
        """
        names = name_of(target), name_of(at), name_of(origin)
        record = Prefetch(*names, whole_of(offset), member_of(PrefetchBound, bound))
        changed = (*self._order.prefetches, record)
        return self._with_order(attrs.evolve(self._order, prefetches=changed))

    @directive()
    def reorder(self, *loops: Name) -> Self:
        """Put the named loops into this order, innermost first, in the places they hold."""
        names = [name_of(loop) for loop in loops]
        current = list(self._order.loops)
        for name in names:
            if all(loop.name != name for loop in current):
                current.insert(0, OrderedLoop(name))
        places = [i for i, loop in enumerate(current) if loop.name in names]
        found = {loop.name: loop for loop in current}
        wanted = [found[name] for name in reversed(names)]
        # A name given twice leaves more loops than places; they all stay, for `verify` to name.
        reordered = list(current)
        for place, loop in zip(places, wanted, strict=False):
            reordered[place] = loop
        reordered[len(reordered) :] = wanted[len(places) :]
        return self._with_order(attrs.evolve(self._order, loops=tuple(reordered)))

    @directive()
    def loops(self, *loops: Name | OrderedLoop) -> Self:
        """Set the loops outright, innermost first, without regard to the splits.

        No legal schedule needs it; it records orders that no other directives lead to.
        """
        records = tuple(
            loop if isinstance(loop, OrderedLoop) else OrderedLoop(name_of(loop)) for loop in loops
        )
        return self._with_order(attrs.evolve(self._order, loops=records[::-1]))

    @directive()
    def tile(self, *args: Name | Factor | Tail) -> Self:
        """``tile(x, y, xo, yo, xi, yi, xfactor, yfactor)`` or, reusing the names of ``x`` and
        ``y`` for the outer loops, ``tile(x, y, xi, yi, xfactor, yfactor)``; a tail may follow.
        Three dimensions are written likewise.

        Raises:
            TypeError: neither form.
        """
        return self._tile(tile_arguments("tile", (2, 3), args))

    def _tile(self, tile: Tile) -> Self:
        result = self
        for split in zip(tile.old, tile.outer, tile.inner, tile.factors, strict=True):
            result = result.split(*split, tile.tail)
        return result.reorder(*tile.inner, *tile.outer)

    def _kind(self, loop: Name, kind: LoopKind) -> Self:
        name = name_of(loop)
        loops = self._order.loops
        if all(known.name != name for known in loops):
            loops = (OrderedLoop(name), *loops)
        changed = tuple(OrderedLoop(name, kind) if known.name == name else known for known in loops)
        lanes = tuple(one for one in self._order.lanes if one.loop != name)
        return self._with_order(attrs.evolve(self._order, loops=changed, lanes=lanes))

    def _split_then(
        self, loop: Name, factor: Factor | None, suffix: str, kind: LoopKind, tail: Tail | str
    ) -> Self:
        if factor is None:
            return self._kind(loop, kind)
        inner = inner_name(name_of(loop), suffix, self._order.names)
        return self.split(loop, loop, inner, factor, tail)._kind(inner, kind)

    @directive()
    def serial(self, loop: Name) -> Self:
        """Execute the iterations in order."""
        return self._kind(loop, LoopKind.SERIAL)

    @directive()
    def parallel(
        self, loop: Name, task_size: Factor | None = None, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Execute the iterations on the thread pool; with ``task_size``, that many a task."""
        if task_size is None:
            return self._kind(loop, LoopKind.PARALLEL)
        inner = inner_name(name_of(loop), "p", self._order.names)
        return self.split(loop, loop, inner, task_size, tail)._kind(loop, LoopKind.PARALLEL)

    @directive()
    def vectorize(
        self, loop: Name, factor: Factor | None = None, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Execute the iterations as vector lanes; with ``factor``, of a split by it."""
        return self._split_then(loop, factor, "v", LoopKind.VECTORIZED, tail)

    @directive()
    def unroll(
        self, loop: Name, factor: Factor | None = None, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Write the iterations out; with ``factor``, those of a split by it."""
        return self._split_then(loop, factor, "u", LoopKind.UNROLLED, tail)

    @directive()
    def gpu_blocks(self, *loops: Name) -> Self:
        """Map loops to the GPU grid, innermost first."""
        result = self
        for loop in loops:
            result = result._kind(loop, LoopKind.GPU_BLOCK)
        return result

    @directive()
    def gpu_threads(self, *loops: Name) -> Self:
        """Map loops to the threads of a block, innermost first."""
        result = self
        for loop in loops:
            result = result._kind(loop, LoopKind.GPU_THREAD)
        return result

    @directive(Lanes)
    def gpu_lanes(self, loop: Name) -> Self:
        """Map a loop to the threads of one warp. It is the innermost loop over threads, and has no
        more iterations than a warp has threads. What these threads exchange lies in shared memory.
        """
        lanes = (*self._order.lanes, Lanes(name_of(loop)))
        threads = self._kind(loop, LoopKind.GPU_THREAD)
        return threads._with_order(attrs.evolve(threads._order, lanes=lanes))

    @directive()
    def gpu_single_thread(self) -> Self:
        """Let one thread of one block compute the whole stage: a block loop and a thread loop of
        one iteration each, called ``__block`` and ``__thread``, go around all others. What splits
        one of them guards its tail: Halide computes an update again in each further iteration.
        """
        block, thread = SINGLE_THREAD
        return self._kind(thread.name, thread.kind)._kind(block.name, block.kind)

    @directive()
    def gpu_tile(self, *args: Name | Factor | Tail) -> Self:
        """``tile`` whose outer loops are GPU blocks and whose inner loops are threads; it has
        one to three dimensions.

        Raises:
            TypeError: the arguments are not those of ``tile``.
        """
        tile = tile_arguments("gpu_tile", (1, 2, 3), args)
        return self._tile(tile).gpu_blocks(*tile.outer).gpu_threads(*tile.inner)


def inner_name(loop: str, suffix: str, names: Collection[str]) -> str:
    """The name of the inner loop of a split whose user gave none: ``x_v``, or ``x_v2`` and so on if
    that is taken.
    """
    name, number = f"{loop}_{suffix}", 2
    while name in names:
        name, number = f"{loop}_{suffix}{number}", number + 1
    return name


def _names_beside(order: DomainOrder, at: int, loop: str) -> frozenset[str]:
    """The names of all other loops that there are after record ``at`` of the splits and fuses."""
    later = (name for record in order.splits[at + 1 :] for name in record.taken)
    return frozenset((*order.names, *order.splits[at].made, *later)) - {loop}


def _renamed(order: DomainOrder, at: int, old: str, new: str) -> DomainOrder:
    """``order`` with another name of a loop that record ``at`` of its splits and fuses has made."""

    def named(name: str) -> str:
        return new if name == old else name

    record = order.splits[at]
    if isinstance(record, Split):
        outer, inner = map(named, record.made)
        record = attrs.evolve(record, outer=outer, inner=inner)
    else:
        record = attrs.evolve(record, fused=new)
    return DomainOrder(
        (*order.splits[:at], record, *order.splits[at + 1 :]),
        tuple(OrderedLoop(named(loop.name), loop.kind) for loop in order.loops),
        tuple(Partitioned(named(one.loop), one.policy) for one in order.partitions),
        tuple(
            attrs.evolve(one, at=named(one.at), origin=named(one.origin))
            for one in order.prefetches
        ),
        tuple(Lanes(named(one.loop)) for one in order.lanes),
    )


def _without(policies: tuple[Partitioned, ...], *loops: str) -> tuple[Partitioned, ...]:
    return tuple(one for one in policies if one.loop not in loops)


def _replaced(
    loops: tuple[OrderedLoop, ...], old: str, new: tuple[OrderedLoop, ...]
) -> tuple[OrderedLoop, ...]:
    """``loops`` with ``old`` replaced in place; innermost where there is no such loop."""
    for i, loop in enumerate(loops):
        if loop.name == old:
            return (*loops[:i], *new, *loops[i + 1 :])
    return (*loops, *new)
