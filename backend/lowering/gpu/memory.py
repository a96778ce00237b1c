"""Where the Funcs inside kernels are stored.

A Func stored in a kernel but outside of thread loops lies in shared memory; a Func stored inside
them lies in the registers of one thread. In both cases its size becomes a constant. A Func stored
outside of kernels that kernels use lies in global memory. All coordinates count from the origin of
the storage.
"""

from __future__ import annotations

from attrs import evolve, frozen

from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Allocate, For, Provide, Statement
from spaces.backend.ir.walk import map_all
from spaces.backend.lowering.gpu.errors import GpuLoweringError
from spaces.backend.lowering.gpu.loops import has_gpu_loops
from spaces.backend.lowering.gpu.sizes import KernelSizes
from spaces.backend.lowering.passes import Pass
from spaces.model.expressions.expr import Call, Expr, constant
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.recursion import deeper
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import MemoryType

PRIVATE = (MemoryType.REGISTER, MemoryType.STACK)
"""The kinds of memory that belong to one thread."""

_ZERO = constant(0, Int32)


def place_gpu_memory(sizes: KernelSizes) -> Pass:
    """Gives every buffer of the kernels of a program, before flattening, a kind of memory and
    constant sizes.

    Raises:
        GpuLoweringError: a size inside a kernel has no limit, or the schedule stores a buffer in a
            kind of memory that its place does not have.
    """

    def placed(program: LoopProgram) -> LoopProgram:
        return evolve(program, body=_Placer(sizes).outside(program.body))

    return Pass("gpu_memory", placed)


@frozen
class _Placer:
    sizes: KernelSizes

    def outside(self, statement: Statement) -> Statement:
        """Places the buffers of a statement outside of all kernels."""
        if not has_gpu_loops(statement):
            return statement
        match statement:
            case For(kind=kind) if kind.is_gpu:
                return self.inside(statement, in_thread=kind is LoopKind.GPU_THREAD)
            case Allocate():
                # The stack of the CPU, too: kernels inside do not use storage with this memory
                # type.
                host = (MemoryType.AUTO, MemoryType.HEAP, *PRIVATE)
                _require_kind(statement, host, "outside of all kernels")
                moved = evolve(_from_origin(statement), memory=MemoryType.HEAP)
                return evolve(moved, body=deeper(self.outside, moved.body))
            case _:
                return map_children(statement, self.outside)

    def inside(self, statement: Statement, in_thread: bool) -> Statement:
        """Places the buffers of a statement in a kernel; ``in_thread`` if it is in a thread
        loop.
        """
        if isinstance(statement, For):
            in_thread = in_thread or statement.kind is LoopKind.GPU_THREAD
        if isinstance(statement, Allocate):
            statement = self._placed(_from_origin(statement), in_thread)
        return map_children(statement, lambda inner: self.inside(inner, in_thread))

    def _placed(self, node: Allocate, in_thread: bool) -> Allocate:
        memory = node.memory
        if in_thread:
            _require_kind(node, (MemoryType.AUTO, *PRIVATE), "inside a thread loop")
            memory = MemoryType.REGISTER if memory is MemoryType.AUTO else memory
        else:
            _require_kind(node, (MemoryType.AUTO, MemoryType.GPU_SHARED), "at a block of a kernel")
            memory = MemoryType.GPU_SHARED
        extents = self.sizes.storage(node)
        constants = tuple(constant(extent, Int32) for extent in extents)
        folds = zip(node.folds, constants, strict=True)
        return evolve(
            node,
            memory=memory,
            sizes=constants,
            extents=constants,
            folds=tuple(None if fold is None else size for fold, size in folds),
        )


def _require_kind(node: Allocate, kinds: tuple[MemoryType, ...], place: str) -> None:
    if node.memory not in kinds:
        raise GpuLoweringError(
            f"The schedule asks for {node.buffer} in {node.memory}, but it is stored {place}; "
            f"possible there: {', '.join(kinds)}."
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
        return map_children(statement, provides)

    body = provides(map_all(node.body, lambda expr: rewrite(expr, call)))
    return evolve(node, mins=tuple(_ZERO for _ in node.mins), body=body)
