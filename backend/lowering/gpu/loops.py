"""Make the loops of kernels count from 0, and give them the kinds that a kernel has.

If a thread loop counts from 0, its variable is the place of a thread in its block, and the loop's
min cancels against the origin of the buffer. A kernel has no vectors and no thread pool: vectorized
loops become unrolled, parallel loops become serial.
"""

from __future__ import annotations

from attrs import evolve

from spaces.backend.ir.identities import coordinate
from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, Statement
from spaces.backend.ir.walk import bind
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import Int32
from spaces.model.schedules.domain_order import LoopKind

_KIND_IN_KERNEL = {LoopKind.VECTORIZED: LoopKind.UNROLLED, LoopKind.PARALLEL: LoopKind.SERIAL}

_ZERO = constant(0, Int32)


@named("gpu_loops")
def normalize_gpu_loops(program: LoopProgram) -> LoopProgram:
    """``program`` with the loops of its kernels counting from 0."""
    return evolve(program, body=_outside(program.body))


def has_gpu_loops(statement: Statement) -> bool:
    """Whether a statement contains a block or thread loop."""
    return any(isinstance(s, For) and s.kind.is_gpu for s in walk_nodes(statement))


def has_threads(statement: Statement) -> bool:
    """Whether a statement contains a thread loop."""
    return any(isinstance(s, For) and s.kind is LoopKind.GPU_THREAD for s in walk_nodes(statement))


def _outside(statement: Statement) -> Statement:
    if isinstance(statement, For) and statement.kind.is_gpu:
        return _inside(statement)
    return map_children(statement, _outside)


def _inside(statement: Statement) -> Statement:
    if not isinstance(statement, For):
        return map_children(statement, _inside)
    value = coordinate("add", statement.min, statement.var)
    body = bind(statement.body, statement.var, value)
    kind = _KIND_IN_KERNEL.get(statement.kind, statement.kind)
    return For(statement.var, _ZERO, statement.extent, kind, _inside(body))
