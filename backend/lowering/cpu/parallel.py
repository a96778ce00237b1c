"""Outline the bodies of parallel loops: each becomes a function that gets what it uses from
outside.
"""

from __future__ import annotations

from attrs import evolve

from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, ParallelFor, Statement
from spaces.backend.ir.walk import free_buffers, free_variables
from spaces.backend.lowering.passes import named
from spaces.model.schedules.domain_order import LoopKind


@named("parallel")
def parallel(program: LoopProgram) -> LoopProgram:
    """The program with a call to the thread pool in place of each parallel loop."""
    return evolve(program, body=_outlined(program.body))


def _outlined(statement: Statement) -> Statement:
    statement = map_children(statement, _outlined)
    if not isinstance(statement, For) or statement.kind is not LoopKind.PARALLEL:
        return statement
    return ParallelFor(
        var=statement.var,
        min=statement.min,
        extent=statement.extent,
        variables=tuple(v for v in free_variables(statement.body) if v is not statement.var),
        buffers=free_buffers(statement.body),
        body=statement.body,
    )
