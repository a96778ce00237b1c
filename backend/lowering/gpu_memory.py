"""Where the Funcs inside kernels are stored.

A Func stored outside of thread loops is in shared memory; one stored inside them is a thread's own,
in registers. Either way its size is made a constant. What is stored outside kernels but used by
them is in global memory. All coordinates count from the origin of the storage.
"""

from __future__ import annotations

from math import prod

from attrs import evolve, frozen

from backend.lowering.bounds import largest
from backend.lowering.gpu_errors import GpuLoweringError
from backend.lowering.gpu_loops import GPU_KINDS, has_gpu_loops
from backend.lowering.known import inside_loop, known_sizes
from backend.lowering.statements import map_all, map_bodies
from backend.program import Allocate, For, LoopProgram, Provide, Statement
from spaces.model.expr import Call, Expr, constant
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
        if not has_gpu_loops(statement):
            return statement
        match statement:
            case For(kind=kind) if kind in GPU_KINDS:
                return _Inside(self.known, in_thread=False).visit(statement)
            case For(var=var, min=low, extent=extent):
                inner = _Outside(inside_loop(self.known, var, low, extent))
                return evolve(statement, body=inner.visit(statement.body))
            case Allocate():
                _require_kind(statement, (Memory.AUTO, Memory.HEAP), "outside of all kernels")
                moved = evolve(_from_origin(statement), memory=Memory.HEAP)
                return evolve(moved, body=self.visit(moved.body))
            case _:
                return map_bodies(statement, self.visit)


@frozen
class _Inside:
    """What lies in a kernel."""

    known: Simplifier
    in_thread: bool

    def visit(self, statement: Statement) -> Statement:
        match statement:
            case For(var=var, min=low, extent=extent):
                known = inside_loop(self.known, var, low, extent)
                in_thread = self.in_thread or statement.kind is LoopKind.GPU_THREAD
                return evolve(statement, body=_Inside(known, in_thread).visit(statement.body))
            case Allocate():
                return self._allocate(_from_origin(statement))
            case _:
                return map_bodies(statement, self.visit)

    def _allocate(self, node: Allocate) -> Allocate:
        memory = node.memory
        if self.in_thread:
            _require_kind(node, (Memory.AUTO, *PRIVATE), "inside a thread loop")
            memory = Memory.REGISTER if memory is Memory.AUTO else memory
        else:
            _require_kind(node, (Memory.AUTO, Memory.GPU_SHARED), "at a block of a kernel")
            memory = Memory.GPU_SHARED
        extents = [self._size(node, d, extent) for d, extent in enumerate(node.extents)]
        sizes = tuple(constant(extent, Int32) for extent in extents)
        folds = zip(node.folds, sizes, strict=True)
        return evolve(
            node,
            memory=memory,
            elements=constant(prod(extents), Int32),
            extents=sizes,
            folds=tuple(None if fold is None else size for fold, size in folds),
            body=self.visit(node.body),
        )

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


def _require_kind(node: Allocate, kinds: tuple[Memory, ...], place: str) -> None:
    if node.memory not in kinds:
        raise GpuLoweringError(
            f"{node.buffer} is to be stored in {node.memory}, but it is stored {place}; possible "
            f"there: {', '.join(kinds)}."
        )


def _from_origin(node: Allocate) -> Allocate:
    """The allocation with coordinates that count from its origin."""

    def moved(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(arg - low for arg, low in zip(args, node.mins, strict=True))

    def call(expr: Expr) -> Expr:
        if isinstance(expr, Call) and expr.target == node.buffer:
            return Call(expr.type, expr.target, moved(expr.args))
        return expr

    def provides(statement: Statement) -> Statement:
        if isinstance(statement, Provide) and statement.func == node.buffer:
            return evolve(statement, args=moved(statement.args))
        return map_bodies(statement, provides)

    body = provides(map_all(node.body, lambda expr: rewrite(expr, call)))
    return evolve(node, mins=tuple(_ZERO for _ in node.mins), body=body)
