"""Where the Funcs inside kernels are stored.

A Func stored outside of thread loops is in shared memory; one whose storage is all inside a thread
is that thread's own, in registers. Either way its size is made a constant. What is stored outside
kernels stays in global memory. All coordinates count from the origin of the storage.
"""

from __future__ import annotations

from math import prod

from attrs import evolve, frozen

from backend.lowering.bounds import largest
from backend.lowering.gpu_errors import GpuLoweringError
from backend.lowering.gpu_loops import GPU_KINDS, has_threads
from backend.lowering.known import inside_loop, known_sizes
from backend.lowering.statements import map_all, map_bodies
from backend.program import Allocate, For, LoopProgram, Provide, Statement
from spaces.model.expr import Call, Expr, Variable, constant
from spaces.model.rewrite import rewrite
from spaces.model.schedule import LoopKind, Memory
from spaces.model.simplify import Simplifier
from spaces.model.types import Int32

PRIVATE = (Memory.REGISTER, Memory.STACK)
"""The kinds of memory that belong to one thread."""

_ZERO = constant(0, Int32)


def place_gpu_memory(program: LoopProgram) -> LoopProgram:
    """``program``, before flattening, with a kind of memory and constant sizes for every buffer of
    its kernels.

    Raises:
        GpuLoweringError: a size inside a kernel has no limit, or a buffer is asked to be in a kind
            of memory that its place does not have.
    """
    return evolve(program, body=_Outside(known_sizes(program)).visit(program.body))


@frozen
class _Outside:
    """What lies outside of all kernels; ``known`` are the limits of sizes and loops there."""

    known: Simplifier

    def visit(self, statement: Statement) -> Statement:
        match statement:
            case For(kind=kind) if kind in GPU_KINDS:
                return _Inside(self.known, ()).visit(statement)
            case For():
                inner = _Outside(
                    inside_loop(self.known, statement.var, statement.min, statement.extent)
                )
                return evolve(statement, body=inner.visit(statement.body))
            case Allocate(memory=Memory.GPU_SHARED):
                raise GpuLoweringError(
                    f"{statement.buffer} is to be stored in shared memory, but its storage is "
                    "outside of all gpu blocks; store it at a block loop, or elsewhere."
                )
            case Allocate():
                body = self.visit(_Moved(statement, ()).statement(statement.body))
                mins = tuple(_ZERO for _ in statement.mins)
                return evolve(statement, memory=Memory.HEAP, mins=mins, body=body)
            case _:
                return map_bodies(statement, self.visit)


@frozen
class _Inside:
    """What lies in a kernel, inside the thread loops ``threads``."""

    known: Simplifier
    threads: tuple[For, ...]

    def visit(self, statement: Statement) -> Statement:
        match statement:
            case For():
                known = inside_loop(self.known, statement.var, statement.min, statement.extent)
                is_thread = statement.kind is LoopKind.GPU_THREAD
                threads = (*self.threads, statement) if is_thread else self.threads
                return evolve(statement, body=_Inside(known, threads).visit(statement.body))
            case Allocate():
                return self._allocate(statement)
            case _:
                return map_bodies(statement, self.visit)

    def _allocate(self, node: Allocate) -> Statement:
        memory = self._memory(node)
        # Threads around shared storage have a copy each, for the threads inside to share.
        copies = self.threads if memory is Memory.GPU_SHARED else ()
        extents = [self._size(node, d, extent) for d, extent in enumerate(node.extents)]
        extents += [thread_count(loop, self.known) for loop in copies]
        sizes = tuple(constant(extent, Int32) for extent in extents)
        folds = zip(node.folds, sizes, strict=False)
        return Allocate(
            buffer=node.buffer,
            type=node.type,
            memory=memory,
            elements=constant(prod(extents), Int32),
            body=self.visit(_Moved(node, tuple(loop.var for loop in copies)).statement(node.body)),
            mins=tuple(_ZERO for _ in sizes),
            extents=sizes,
            folds=(*(None if f is None else size for f, size in folds), *(None for _ in copies)),
        )

    def _memory(self, node: Allocate) -> Memory:
        """The kind of memory for a buffer inside a kernel."""
        is_shared = not self.threads or has_threads(node.body)
        if node.memory is Memory.HEAP:
            raise GpuLoweringError(
                f"{node.buffer} is to be stored on the heap, which kernels do not have; store it "
                "at root, or in shared memory or registers."
            )
        if is_shared and node.memory in PRIVATE:
            raise GpuLoweringError(
                f"{node.buffer} is to be stored in each thread's own memory ({node.memory}), but "
                "the threads of a block share it; store it in shared memory, or at a thread loop."
            )
        if node.memory is Memory.AUTO:
            return Memory.GPU_SHARED if is_shared else Memory.REGISTER
        return node.memory

    def _size(self, node: Allocate, dimension: int, extent: Expr) -> int:
        size = largest(extent, self.known)
        if size is None:
            raise GpuLoweringError(
                f"{node.buffer} is stored inside a kernel, where sizes must be known before the "
                f"launch, but its extent {dimension} is `{extent}`, which has no limit; compute "
                f"it at a loop inside a split, or store it at root."
            )
        return size


def thread_count(loop: For, known: Simplifier) -> int:
    """The most iterations that a thread loop has.

    Raises:
        GpuLoweringError: it has no limit.
    """
    size = largest(loop.extent, known)
    if size is None:
        raise GpuLoweringError(
            f"The thread loop {loop.var.name} has `{loop.extent}` iterations, which has no limit; "
            "split it by a number of threads."
        )
    return size


@frozen
class _Moved:
    """Accesses of a Func count from the origin of its storage, and name the copy they mean."""

    node: Allocate
    copies: tuple[Variable, ...]

    def statement(self, body: Statement) -> Statement:
        """``body`` with all accesses changed."""
        return self._provides(map_all(body, lambda expr: rewrite(expr, self._call)))

    def _call(self, node: Expr) -> Expr:
        if isinstance(node, Call) and node.target == self.node.buffer:
            return Call(node.type, node.target, self._coordinates(node.args))
        return node

    def _provides(self, body: Statement) -> Statement:
        if isinstance(body, Provide) and body.func == self.node.buffer:
            return evolve(body, args=self._coordinates(body.args))
        return map_bodies(body, self._provides)

    def _coordinates(self, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
        moved = (arg - low for arg, low in zip(args, self.node.mins, strict=True))
        return (*moved, *self.copies)
