"""Edits of the domain order of a stage: kinds, order, tails, splits and fuses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from attrs import evolve, frozen

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import (
    DomainOrder,
    Fuse,
    LoopKind,
    OrderedLoop,
    Split,
    Tail,
)
from spaces.model.schedules.extents import constant_extents
from spaces.model.schedules.schedule import Schedule

PERMUTED_LOOPS = 4
"""Edits try every order of a stage with at most this many loops; in other stages they move one
loop.
"""

LANES = 8
"""The factor for splitting a loop of unknown extent so that its kind is legal; later edits change
it like any other factor.
"""

_SWAPPED = {LoopKind.GPU_BLOCK: LoopKind.GPU_THREAD, LoopKind.GPU_THREAD: LoopKind.GPU_BLOCK}


@frozen
class StageEdits:
    """The edits of the domain order of one stage of ``func``."""

    pipeline: Pipeline
    schedule: Schedule
    func: str
    stage: int
    device: Device

    @property
    def _order(self) -> DomainOrder:
        return self.schedule.of(self.func).stages[self.stage]

    def all(self) -> Iterator[RankedEdit]:
        """Every edit, in no order."""
        yield from self._change_kinds()
        yield from self._swap_gpu_kinds()
        yield from self._reorder_loops()
        yield from self._swap_fuses()
        yield from self._change_tails()
        yield from self._leave_out_records()
        yield from self._split_loops()

    def _edit(self, rank: Rank, unlike: float, order: DomainOrder, *loops: str) -> RankedEdit:
        after = self.schedule.with_stage(self.func, self.stage, order)
        touched = frozenset((self.stage, loop) for loop in loops)
        if isinstance(self.device, GpuDevice) and _gpu_kinds(self._order) - _gpu_kinds(order):
            rank = Rank.LEAVE_GPU
        return RankedEdit(self.func, after, rank, unlike, touched)

    def _change_kinds(self) -> Iterator[RankedEdit]:
        order = self._order
        for i, loop in enumerate(order.loops):
            for kind in self._possible():
                if kind is not loop.kind:
                    unlike = 0.2 if kind is LoopKind.SERIAL else 0.6
                    yield self._edit(Rank.KIND, unlike, order.with_kind(i, kind), loop.name)

    def _swap_gpu_kinds(self) -> Iterator[RankedEdit]:
        """Block and thread loops swapped, where a block loop lies inside a thread loop."""
        order = self._order
        kinds = [loop.kind for loop in order.loops if loop.kind.is_gpu]
        is_wrong = kinds != sorted(kinds, key=[*LoopKind].index)
        if is_wrong and isinstance(self.device, GpuDevice):
            loops = tuple(evolve(at, kind=_SWAPPED.get(at.kind, at.kind)) for at in order.loops)
            names = (loop.name for loop in loops if loop.kind.is_gpu)
            yield self._edit(Rank.KIND, 0.1, evolve(order, loops=loops), *names)

    def _possible(self) -> tuple[LoopKind, ...]:
        gpu = isinstance(self.device, GpuDevice)
        return tuple(kind for kind in LoopKind if gpu or not kind.is_gpu)

    def _reorder_loops(self) -> Iterator[RankedEdit]:
        order = self._order
        for loops in _rearranged(order.loops):
            names = [loop.name for loop in loops]
            moved = sum(a != b for a, b in zip(names, order.names, strict=True)) / len(names)
            yield self._edit(Rank.ORDER, moved, evolve(order, loops=loops))

    def _swap_fuses(self) -> Iterator[RankedEdit]:
        """Edits that fuse the same two loops in the other order."""
        order = self._order
        for i, record in enumerate(order.splits):
            if isinstance(record, Fuse):
                swapped = Fuse(record.outer, record.inner, record.fused)
                changed = _replaced(order, i, swapped)
                yield self._edit(Rank.ORDER, 0.5, changed, record.fused)

    def _change_tails(self) -> Iterator[RankedEdit]:
        order = self._order
        for i, record in enumerate(order.splits):
            for tail in Tail if isinstance(record, Split) else ():
                if isinstance(record, Split) and tail is not record.tail:
                    unlike = 0.2 if tail is Tail.AUTO else 0.5
                    changed = _replaced(order, i, evolve(record, tail=tail))
                    yield self._edit(Rank.TAIL, unlike, changed)

    def _leave_out_records(self) -> Iterator[RankedEdit]:
        """Edits that leave out a split or a fuse."""
        order = self._order
        for i, record in enumerate(order.splits):
            splits = (*order.splits[:i], *order.splits[i + 1 :])
            if isinstance(record, Split):
                loops = tuple(loop for loop in order.loops if loop.name != record.inner)
                loops = _renamed(loops, record.outer, (record.old,))
            else:
                fused = tuple(dict.fromkeys((record.outer, record.inner)))
                loops = _renamed(order.loops, record.fused, fused)
            names = (*record.taken, *record.made)
            yield self._edit(Rank.DROP, 0.5, DomainOrder(splits, loops), *names)

    def _split_loops(self) -> Iterator[RankedEdit]:
        """Edits that split a loop, so that the inner loop has the kind of the whole loop."""
        order = self._order
        known = constant_extents(self.pipeline.function(self.func).stages[self.stage], order)
        for loop in order.loops:
            if _needs_extent(loop.kind) and loop.name not in known:
                inner = order.unused_name(f"{loop.name}i")
                record = Split(loop.name, loop.name, inner, LANES)
                outer = LoopKind.GPU_BLOCK if loop.kind.is_gpu else LoopKind.SERIAL
                for kind in dict.fromkeys((outer, LoopKind.SERIAL)):
                    loops = _renamed(order.loops, loop.name, (loop.name, inner))
                    kinds = {loop.name: kind, inner: loop.kind}
                    loops = tuple(evolve(at, kind=kinds.get(at.name, at.kind)) for at in loops)
                    changed = evolve(order, splits=(*order.splits, record), loops=loops)
                    unlike = 0.2 if kind is outer else 0.4
                    rank = Rank.KIND if _is_inside(order, loop) else Rank.SPLIT
                    yield self._edit(rank, unlike, changed, loop.name, inner)


def _is_inside(order: DomainOrder, loop: OrderedLoop) -> bool:
    """Whether some of the iterations of a loop's dimension already run as the loop does, in a loop
    split off it.
    """
    inner = {r.inner for r in order.splits if isinstance(r, Split) and r.outer == loop.name}
    return any(at.name in inner and at.kind is loop.kind for at in order.loops)


def _gpu_kinds(order: DomainOrder) -> set[LoopKind]:
    """The kinds of GPU loops that a stage has."""
    return {loop.kind for loop in order.loops if loop.kind.is_gpu}


def _rearranged(loops: tuple[OrderedLoop, ...]) -> Iterator[tuple[OrderedLoop, ...]]:
    if len(loops) <= PERMUTED_LOOPS:
        yield from (p for p in itertools.permutations(loops) if p != loops)
        return
    seen = {loops}
    for i, loop in enumerate(loops):
        others = (*loops[:i], *loops[i + 1 :])
        for place in range(len(loops)):
            moved = (*others[:place], loop, *others[place:])
            if moved not in seen:
                seen.add(moved)
                yield moved


def _replaced(order: DomainOrder, index: int, record: Split | Fuse) -> DomainOrder:
    return evolve(order, splits=(*order.splits[:index], record, *order.splits[index + 1 :]))


def _renamed(
    loops: tuple[OrderedLoop, ...], name: str, into: tuple[str, ...]
) -> tuple[OrderedLoop, ...]:
    """``loops`` with others, of the same kind, in place of one."""
    return tuple(
        new
        for loop in loops
        for new in ([OrderedLoop(n, loop.kind) for n in into] if loop.name == name else [loop])
    )


def _needs_extent(kind: LoopKind) -> bool:
    """Whether a loop of this kind needs an extent that is known: lanes, copies or threads."""
    return kind.has_constant_extent or kind is LoopKind.GPU_THREAD
