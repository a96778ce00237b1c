"""Outlines kernels from a flattened loop program.

The outermost block loops become a launch: their variables become the place of a block, and the host
computes the grid from their extents. Inside, the thread loops disappear: their variables become the
place of a thread, and the innermost loop runs along x. Along each axis, a block has as many threads
as its largest thread loop has iterations. A guard stands around code that fewer threads run. One
thread runs code outside of thread loops.

Guards stand only at the innermost places, around code without barriers, so all threads of a block
reach every barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from attrs import define, evolve, field, frozen

from spaces.backend.ir.host import (
    BLOCK,
    THREAD,
    DeviceFunction,
    Dimensions,
    GlobalArray,
    GpuProgram,
    HostBlock,
    HostIf,
    HostLoop,
    HostNode,
    HostPart,
    Launch,
    SharedArray,
)
from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.sizes import known_elements
from spaces.backend.ir.statements import Allocate, Barrier, Block, For, If, Statement, Store, block
from spaces.backend.ir.vectors import Load
from spaces.backend.ir.walk import bind, buffers_written
from spaces.backend.lowering.gpu.errors import GpuLoweringError
from spaces.backend.lowering.gpu.loops import has_gpu_loops, has_threads
from spaces.backend.lowering.gpu.sizes import KernelSizes
from spaces.constraints.sizes.kernels import WORD_BYTES
from spaces.model.expressions.expr import Const, Expr, constant, walk
from spaces.model.expressions.types import Int32, Type
from spaces.model.recursion import deeper
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import MemoryType

_ONE = constant(1, Int32)


def outline_kernels(
    program: LoopProgram, sizes: KernelSizes, others: tuple[GpuProgram, ...] = ()
) -> GpuProgram:
    """The kernels and the host program of ``program``, which has its barriers.

    Args:
        program: a flattened program.
        sizes: how many threads its loops need.
        others: programs for other cases of the same pipeline. A kernel that equals one of theirs
            gets the same name; every other kernel gets a new name.

    Raises:
        GpuLoweringError: its block and thread loops do not form a grid of blocks of threads.
    """
    parts = sum(isinstance(n, HostPart) for other in others for n in walk_nodes(other.body))
    known = {kernel.name: kernel for other in others for kernel in other.kernels}
    outliner = _Outliner(program.name, sizes, known, parts)
    body = outliner.host(program.body)
    return GpuProgram(
        name=program.name,
        buffers=program.buffers,
        scalars=program.scalars,
        size_checks=program.size_checks,
        kernels=tuple(outliner.kernels),
        body=body,
        assumptions=program.assumptions,
        dimensions={
            s.buffer: s.dimensions
            for s in walk_nodes(program.body)
            if isinstance(s, Allocate) and s.dimensions
        },
    )


@define
class _Outliner:
    """Walks the host's part of a program; ``known`` are kernels of other programs, by name."""

    program: str
    sizes: KernelSizes
    known: dict[str, DeviceFunction]
    _parts: int
    kernels: list[DeviceFunction] = field(factory=list)

    def host(self, statement: Statement) -> HostNode:
        if not has_gpu_loops(statement):
            self._parts += 1
            part = _with_own_memory(statement, frozenset())
            return HostPart(f"{self.program}_part{self._parts}", part)
        match statement:
            case Block(body=body):
                return HostBlock(tuple(self.host(s) for s in body))
            case For(kind=kind) if kind.is_gpu:
                return self._launch(statement)
            case For(var=var, min=low, extent=extent):
                return HostLoop(var, low, extent, self.host(statement.body))
            case If():
                return HostIf(statement.condition, self.host(statement.body))
            case Allocate(buffer=buffer, type=type, sizes=sizes):
                return GlobalArray(buffer, type, sizes, deeper(self.host, statement.body))
        raise TypeError(f"{statement} is not a statement of a host.")

    def _launch(self, outermost: For) -> Launch:
        blocks, body = _block_loops(outermost)
        grid: list[Expr] = [_ONE, _ONE, _ONE]
        for axis, loop in enumerate(reversed(blocks)):
            grid[axis] = loop.extent
        size = _block_size(body, self.sizes)
        thread = _Threads(size).lower(body)
        for axis, loop in enumerate(reversed(blocks)):
            thread = bind(thread, loop.var, BLOCK[axis])
        kernel = self._named(
            _stem(body),
            DeviceFunction(
                name="",
                grid=(grid[0], grid[1], grid[2]),
                block=size,
                shared=_shared_arrays(body),
                body=thread,
            ),
        )
        self.kernels.append(kernel)
        return Launch(kernel)

    def _named(self, stem: str, kernel: DeviceFunction) -> DeviceFunction:
        """The kernel with a new name, or with the name of an equal kernel of another program."""
        taken = {own.name for own in self.kernels}
        named, number = evolve(kernel, name=f"{stem}_kernel"), 2
        while named.name in taken or self.known.get(named.name, named) != named:
            named, number = evolve(kernel, name=f"{stem}_kernel{number}"), number + 1
        return named


def _with_own_memory(statement: Statement, hoisted: frozenset[str]) -> Statement:
    """A part that the host computes, with storage that does not use memory hoisted around kernels,
    because that memory is an array of the device. Storage keeps only the memory that is hoisted
    within the part.
    """
    if isinstance(statement, Allocate):
        hoisted |= {statement.buffer}
        if statement.within not in hoisted:
            statement = evolve(statement, within="")
    return map_children(statement, lambda inner: _with_own_memory(inner, hoisted))


def _stem(body: Statement) -> str:
    """The stem of a kernel's name: the buffers that it writes."""
    inside = tuple(walk_nodes(body))
    own = {s.buffer for s in inside if isinstance(s, Allocate)}
    written = dict.fromkeys(name for s in inside for name in buffers_written(s))
    return "_".join(name for name in written if name not in own)


def _block_loops(outermost: For) -> tuple[list[For], Statement]:
    """The block loops, outermost first, and what is inside all of them."""
    loops: list[For] = []
    body: Statement = outermost
    while isinstance(body, For) and body.kind is LoopKind.GPU_BLOCK:
        loops.append(body)
        body = body.body
    names = [loop.var.name for loop in loops]
    if not loops:
        raise GpuLoweringError(
            f"The thread loop {outermost.var.name} is not in a block loop; make a loop around it a "
            "gpu_block."
        )
    if len(loops) > 3:
        raise GpuLoweringError(
            f"{len(loops)} block loops are nested ({', '.join(names)}), but a grid has three "
            "dimensions; make the outermost serial, or fuse two."
        )
    for inner in walk_nodes(body):
        if isinstance(inner, For) and inner.kind is LoopKind.GPU_BLOCK:
            raise GpuLoweringError(
                f"Something stands between the block loops {names[-1]} and {inner.var.name}; "
                "block loops are nested directly."
            )
    return loops, body


def _is_thread_loop(statement: Statement) -> TypeGuard[For]:
    return isinstance(statement, For) and statement.kind is LoopKind.GPU_THREAD


def _nest(statement: Statement) -> tuple[list[For], Statement]:
    """The thread loops that nest directly, outermost first, and their body.

    Raises:
        GpuLoweringError: there are further thread loops inside, or more than three.
    """
    loops: list[For] = []
    body = statement
    while _is_thread_loop(body):
        loops.append(body)
        body = body.body
    for inner in walk_nodes(body):
        if _is_thread_loop(inner):
            raise GpuLoweringError(
                f"The thread loop {inner.var.name} is inside a thread, in the loop "
                f"{loops[-1].var.name}; make it serial."
            )
    if len(loops) > 3:
        raise GpuLoweringError(
            f"{len(loops)} thread loops are nested ({', '.join(loop.var.name for loop in loops)}), "
            "but a block has three dimensions; make one serial, or fuse two."
        )
    return loops, body


def _block_size(body: Statement, sizes: KernelSizes) -> Dimensions:
    """The number of threads along each axis: the iterations of the largest thread loop along it."""
    block = [1, 1, 1]
    for nest in _thread_nests(body):
        for axis, loop in enumerate(reversed(nest)):
            block[axis] = max(block[axis], sizes.threads(loop))
    return block[0], block[1], block[2]


def _thread_nests(body: Statement) -> Iterator[list[For]]:
    """The nests of thread loops."""
    if _is_thread_loop(body):
        yield _nest(body)[0]
        return
    match body:
        case Block():
            for statement in body.body:
                yield from _thread_nests(statement)
        case For() | If() | Allocate():
            yield from _thread_nests(body.body)


def _shared_arrays(body: Statement) -> tuple[SharedArray, ...]:
    """The shared arrays, wide elements first, so that only arrays of whole words need padding."""
    inside = tuple(walk_nodes(body))
    changed = {
        s.buffer
        for s in inside
        if isinstance(s, Store) and s.update is not None and s.update.shared
    }
    arrays = [
        _shared_array(s.buffer, s.type, elements, s.buffer in changed)
        for s in inside
        if isinstance(s, Allocate)
        and s.memory is MemoryType.GPU_SHARED
        and (elements := known_elements(s.sizes)) is not None
    ]
    return tuple(sorted(arrays, key=lambda a: (-a.type.bytes, not a.in_words)))


def _shared_array(buffer: str, type: Type, elements: int, in_one_step: bool) -> SharedArray:
    """A shared array. It has whole words if updates change its elements ``in_one_step`` and these
    are shorter than words.
    """
    if not in_one_step or type.bytes >= WORD_BYTES:
        return SharedArray(buffer, type, elements)
    of_word = WORD_BYTES // type.bytes
    return SharedArray(buffer, type, -(-elements // of_word) * of_word, in_words=True)


@frozen
class _Threads:
    """Replaces the thread loops of a kernel by the threads of a block of size ``block``."""

    block: Dimensions

    def lower(self, statement: Statement, conditions: tuple[Expr, ...] = ()) -> Statement:
        """The part of ``statement`` that one thread runs, under ``conditions``."""
        if isinstance(statement, Barrier):
            return statement
        if _is_thread_loop(statement) or not (has_threads(statement) or _has_barriers(statement)):
            return self._part(statement, conditions)
        match statement:
            case Block(body=body):
                return _merged([self.lower(s, conditions) for s in body])
            case For():
                return evolve(statement, body=self.lower(statement.body, conditions))
            case If():
                return self.lower(statement.body, (*conditions, statement.condition))
            case Allocate():
                return self.lower(statement.body, conditions)
        raise TypeError(f"{type(statement).__name__} is not a statement of a kernel.")

    def _part(self, statement: Statement, conditions: tuple[Expr, ...]) -> Statement:
        """A nest of thread loops, or code outside of them, guarded for the threads that run it."""
        loops, body = _nest(_without_shared_arrays(statement))
        extents = [loop.extent for loop in reversed(loops)]
        tests = []
        for axis, threads in enumerate(self.block):
            extent = extents[axis] if axis < len(extents) else _ONE
            if not (isinstance(extent, Const) and extent.value == threads):
                tests.append(THREAD[axis] < extent)
        for condition in reversed((*tests, *conditions)):
            body = If(condition, body)
        for axis, loop in enumerate(reversed(loops)):
            body = bind(body, loop.var, THREAD[axis])
        return body


def _without_shared_arrays(statement: Statement) -> Statement:
    """A statement without its allocations of shared memory, which the whole kernel declares."""
    if isinstance(statement, Allocate) and statement.memory is MemoryType.GPU_SHARED:
        return _without_shared_arrays(statement.body)
    return map_children(statement, _without_shared_arrays)


def _merged(statements: list[Statement]) -> Statement:
    """The statements in order; neighbors under the same guard share it."""
    done: list[Statement] = []
    for statement in statements:
        last = done[-1] if done else None
        if isinstance(last, If) and isinstance(statement, If) and _is_guard(last, statement):
            done[-1] = If(last.condition, _merged([last.body, statement.body]))
        else:
            done.append(statement)
    return block(*done)


def _is_guard(first: If, second: If) -> bool:
    """Whether two conditions are the same and read only coordinates, which stores do not change."""
    same = first.condition is second.condition
    return same and not any(isinstance(n, Load) for n in walk(first.condition))


def _has_barriers(statement: Statement) -> bool:
    return any(isinstance(s, Barrier) for s in walk_nodes(statement))
