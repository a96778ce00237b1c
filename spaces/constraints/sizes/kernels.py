"""The GPU kernels of a loop nest, and formulas for the resources that one block takes.

The outermost block loop of a stage begins a kernel; everything computed inside it belongs to the
kernel. A block has, along each dimension, as many threads as the widest thread loop of any stage
in it: a producer that computes more than its consumer widens the block [S20 3.2].
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce

from attrs import evolve, frozen

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.allocation import Allocation
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.largest import largest_constant
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import MemoryType

SymbolicDim3 = tuple[Expr, Expr, Expr]

WORD_BYTES = 4
"""The size of the shortest word that all devices compare and exchange in one step. CUDA C++
Programming Guide, "atomicCAS".
"""


@frozen
class ThreadLoops:
    """The thread loops of one stage, innermost (x) first, each at its largest extent."""

    func: str
    stage: int
    loops: tuple[LoopVar, ...]
    extents: tuple[Expr, ...]


@frozen
class Kernel:
    """One kernel: a grid of blocks of threads.

    Attributes:
        func: the Func whose stage has the block loops.
        stage: the number of that stage.
        blocks: the block loops, innermost (x) first.
        block: threads of a block along x, y and z, after producers have widened it.
        threads: the thread loops of each stage in the kernel that has thread loops.
        shared: the allocations that all threads of a block share, at their largest size.
        private: the allocations of each thread, at their largest size.
        in_one_step: the Funcs whose elements threads change atomically; their shared arrays consist
            of whole words.
    """

    func: str
    stage: int
    blocks: tuple[LoopVar, ...]
    block: SymbolicDim3
    threads: tuple[ThreadLoops, ...]
    shared: tuple[Allocation, ...]
    private: tuple[Allocation, ...]
    in_one_step: frozenset[str] = frozenset()

    @property
    def grid(self) -> SymbolicDim3:
        """Blocks along x, y and z."""
        return _three(tuple(loop.extent for loop in self.blocks))

    @property
    def threads_per_block(self) -> Expr:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z

    @property
    def shared_bytes(self) -> Expr:
        """Bytes of shared memory of a block. Arrays with the widest elements come first, so that
        alignment wastes nothing.
        """
        return _total(
            words_bytes(a) if a.func in self.in_one_step else allocation_bytes(a)
            for a in self.shared
        )

    def private_bytes(self, *memories: MemoryType) -> Expr:
        """Bytes that each thread stores for itself in the given kinds of memory."""
        return _total(allocation_bytes(a) for a in self.private if a.memory in memories)


def kernels(bounds: Bounds) -> tuple[Kernel, ...]:
    """The kernels of a schedule that obeys the rules on GPU loops, producers first."""
    most = _Most(bounds, frozenset(parameters(bounds.schedule)))
    found: dict[tuple[str, int], _Parts] = {}
    for name, placement in bounds.placements.items():
        stores_inside = _owner(placement.path[: placement.store_depth])
        if stores_inside is not None and name in bounds.allocations:
            parts = found.setdefault(stores_inside, _Parts([], [], [], []))
            kinds = {loop.kind for loop in placement.path[: placement.store_depth]}
            kept = parts.private if LoopKind.GPU_THREAD in kinds else parts.shared
            allocation = bounds.allocations[name]
            extents = tuple(most(e, placement.path) for e in allocation.extents)
            kept.append(evolve(allocation, extents=extents))
        for index, traversal in enumerate(placement.stages):
            path = (*placement.path, *traversal.loops)
            owner = _owner(path)
            if owner is None:
                continue
            parts = found.setdefault(owner, _Parts([], [], [], []))
            if owner == (name, index):
                parts.blocks[:] = [p for p in path if p.kind is LoopKind.GPU_BLOCK][::-1]
            threads = _threads(name, index, path, most)
            if threads.loops:
                parts.threads.append(threads)
    order = {f.name: i for i, f in enumerate(bounds.pipeline.functions)}
    atomic = frozenset(f.name for f in bounds.schedule.funcs if f.atomic)
    return tuple(
        evolve(parts.kernel(owner, order, bounds.simplify), in_one_step=atomic)
        for owner, parts in sorted(found.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    )


def allocation_bytes(allocation: Allocation) -> Expr:
    """Bytes of an allocation, all components together, as a formula."""
    return allocation.elements * element_bytes(allocation)


def words_bytes(allocation: Allocation) -> Expr:
    """Bytes of an allocation whose arrays consist of whole words of 32 bits."""
    words = (
        (allocation.elements * type.bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES
        if type.bytes < WORD_BYTES
        else allocation.elements * type.bytes
        for type in allocation.types
    )
    return _total(words)


def element_bytes(allocation: Allocation) -> int:
    """Bytes of one element, all components together."""
    return sum(type.bytes for type in allocation.types)


@frozen
class _Most:
    """Finds the largest values of sizes while loops run, as formulas over parameters.

    Attributes:
        bounds: the nest of the loops; what its memo knows is not found again.
        parameters: those of its schedule.
    """

    bounds: Bounds
    parameters: frozenset[str]

    def __call__(self, size: Expr, loops: tuple[LoopVar, ...]) -> Expr:
        """The largest value of a size while loops run."""
        if self._is_constant(size):
            return size
        memo = self.bounds.memo
        if memo is None:
            return self._found(size, loops)
        ends = (end for loop in loops for end in (loop.min, loop.max))
        named = self.parameters & size.names.union(*(end.names for end in ends))
        key = (self.bounds.surroundings, size, loops, named)
        known = memo.largest.find(key) or memo.largest.keep(key, self._found(size, loops))
        return known.value

    def _found(self, size: Expr, loops: tuple[LoopVar, ...]) -> Expr:
        return largest_constant(size, loops, self.bounds.simplify, self._is_constant)

    def _is_constant(self, size: Expr) -> bool:
        return self.parameters.issuperset(size.names)


@frozen
class _Parts:
    """A kernel under construction."""

    blocks: list[LoopVar]
    threads: list[ThreadLoops]
    shared: list[Allocation]
    private: list[Allocation]

    def kernel(self, owner: tuple[str, int], order: dict[str, int], simplify: Simplifier) -> Kernel:
        """The finished kernel; its contents are ordered producers first."""
        columns = [[t.extents[d] for t in self.threads if d < len(t.extents)] for d in range(3)]
        return Kernel(
            *owner,
            tuple(self.blocks),
            _three(tuple(simplify(_largest(column)) for column in columns if column)),
            tuple(sorted(self.threads, key=lambda t: (order[t.func], t.stage))),
            tuple(sorted(self.shared, key=lambda a: order[a.func])),
            tuple(sorted(self.private, key=lambda a: order[a.func])),
        )


def _owner(path: tuple[LoopVar, ...]) -> tuple[str, int] | None:
    """The stage whose block loop comes first on a path: it names the kernel."""
    for loop in path:
        if loop.kind is LoopKind.GPU_BLOCK:
            return (loop.func, loop.stage)
    return None


def _threads(func: str, stage: int, path: tuple[LoopVar, ...], most: _Most) -> ThreadLoops:
    places = [
        i
        for i, loop in enumerate(path)
        if loop.kind is LoopKind.GPU_THREAD and (loop.func, loop.stage) == (func, stage)
    ][::-1]
    extents = tuple(most(path[i].extent, path[:i]) for i in places)
    return ThreadLoops(func, stage, tuple(path[i] for i in places), extents)


def _total(numbers: Iterable[Expr]) -> Expr:
    return reduce(operator.add, numbers, constant(0, Int32))


def _largest(extents: Iterable[Expr]) -> Expr:
    first, *others = dict.fromkeys(extents)
    return fn.max(first, *others) if others else first


def _three(extents: tuple[Expr, ...]) -> SymbolicDim3:
    one = constant(1, Int32)
    x, y, z = [*extents, one, one, one][:3]
    return x, y, z
