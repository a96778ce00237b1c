"""Kernels written by hand, statement by statement."""

from __future__ import annotations

from spaces import Expr, Int32, LoopKind
from spaces.backend.ir.host import GpuProgram
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, Statement, Store, block
from spaces.backend.ir.vectors import Load
from spaces.backend.lowering.gpu.kernels import outline_kernels
from spaces.backend.lowering.gpu.sizes import KernelSizes
from spaces.model.expressions.expr import Variable, constant

THREADS = 8
T, B, ROUND = Variable(Int32, "t"), Variable(Int32, "b"), Variable(Int32, "i")


def number(value: int) -> Expr:
    return constant(value, Int32)


def loop(var: Variable, extent: Expr, kind: LoopKind, body: Statement) -> For:
    return For(var, number(0), extent, kind, body)


def each(body: Statement) -> For:
    """``body`` in a loop over all threads."""
    return loop(T, number(THREADS), LoopKind.GPU_THREAD, body)


def rounds(*body: Statement, extent: Expr | None = None) -> For:
    count = number(5) if extent is None else extent
    return loop(ROUND, count, LoopKind.SERIAL, block(*body))


def load(buffer: str, index: Expr) -> Load:
    return Load(Int32, buffer, index)


def write(buffer: str, index: Expr = T) -> For:
    return each(Store(buffer, index, T * 3))


def read(buffer: str, into: str = "out") -> For:
    """Each thread reads the element of another thread."""
    return each(Store(into, T, load(buffer, number(THREADS - 1) - T)))


def kernel(*body: Statement) -> LoopProgram:
    return LoopProgram("p", (), (), (), loop(B, number(4), LoopKind.GPU_BLOCK, block(*body)))


def outlined(*body: Statement) -> GpuProgram:
    return outline_kernels(kernel(*body), KernelSizes({}, {}))
