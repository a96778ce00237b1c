"""Ring buffers: the storage of a Func gets one more dimension, the outermost in memory."""

from __future__ import annotations

from attrs import evolve

from spaces.backend.ir.node import map_children
from spaces.backend.ir.statements import Prefetch, Provide, Statement
from spaces.backend.ir.walk import map_own
from spaces.model.expressions.expr import Call, Expr
from spaces.model.expressions.rewrite import rewrite


def with_coordinate(statement: Statement, buffers: frozenset[str], last: Expr) -> Statement:
    """The statement in which each access to ``buffers`` has one more coordinate, ``last``."""

    def read(node: Expr) -> Expr:
        if isinstance(node, Call) and node.buffer in buffers:
            return Call(node.type, node.buffer, (*node.args, last))
        return node

    def changed(one: Statement) -> Statement:
        one = map_own(one, lambda expr: rewrite(expr, read))
        if isinstance(one, Provide) and one.func in buffers:
            one = evolve(one, args=(*one.args, last))
        if isinstance(one, Prefetch) and one.buffer in buffers:
            one = evolve(one, at=(*one.at, last))
        return map_children(one, changed)

    return changed(statement)
