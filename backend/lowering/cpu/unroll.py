"""Write out the iterations of unrolled loops."""

from __future__ import annotations

from attrs import evolve

from spaces.backend.ir.identities import evaluated, folded
from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, Statement, block
from spaces.backend.ir.walk import map_all
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import Const, Expr, constant
from spaces.model.expressions.rewrite import Substitution
from spaces.model.expressions.types import Int32
from spaces.model.schedules.domain_order import LoopKind


@named("unroll")
def unroll(program: LoopProgram) -> LoopProgram:
    """The program without unrolled loops. If vectorized loops nest, only the innermost stays a
    vector; the pass writes out the outer ones, because lanes are independent.
    """
    return evolve(program, body=_unrolled(program.body))


def _unrolled(statement: Statement) -> Statement:
    statement = map_children(statement, _unrolled)
    if not isinstance(statement, For):
        return statement
    is_outer_vector = statement.kind is LoopKind.VECTORIZED and _has_vector_loop(statement.body)
    if statement.kind is not LoopKind.UNROLLED and not is_outer_vector:
        return statement
    if not isinstance(statement.extent, Const):
        return evolve(statement, kind=LoopKind.SERIAL)
    places = (statement.min + constant(i, Int32) for i in range(int(statement.extent.value)))
    return block(*(_copy(statement, evaluated(place)) for place in places))


def _copy(loop: For, place: Expr) -> Statement:
    """The body in one iteration, with the tests decided that the iteration decides, such as which
    color channel it is.
    """
    replace = Substitution({loop.var.name: place}, then=lambda node: folded(evaluated(node)))
    return map_all(loop.body, replace)


def _has_vector_loop(statement: Statement) -> bool:
    return any(isinstance(s, For) and s.kind is LoopKind.VECTORIZED for s in walk_nodes(statement))
