"""Simplify coordinates, bounds and guards, and move guards out of loops in which they do not
vary.
"""

from __future__ import annotations

from attrs import evolve

from spaces.backend.ir.identities import evaluated, folded
from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import EMPTY, Allocate, For, If, Provide, Statement
from spaces.backend.ir.walk import bind, map_own
from spaces.backend.lowering.analyses.conditions import conjuncts, is_comparison_of_coordinates
from spaces.backend.lowering.analyses.known import inside_loop, known_sizes
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import Call, Const, Expr, constant
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.schedule import AUTO_STACK_BYTES, MemoryType

_ONE = constant(1, Int32)


@named("simplify")
def simplify(program: LoopProgram) -> LoopProgram:
    """Simplifies index arithmetic; removes loops of one iteration and constant conditions."""
    return evolve(program, body=_Simplification(known_sizes(program)).statement(program.body))


class _Simplification:
    def __init__(self, known: Simplifier) -> None:
        self.known = known
        self._done: dict[Expr, Expr] = {}

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                return self._loop(statement)
            case If():
                return self._guard(statement)
            case Provide():
                args = tuple(self.known(a) for a in statement.args)
                return evolve(statement, args=args, value=self.value(statement.value))
            case Allocate():
                simpler = map_own(statement, self.known)
                assert isinstance(simpler, Allocate)
                sized = evolve(simpler, sizes=self._sizes(simpler))
                return map_children(sized, self.statement)
            case _:
                return map_children(statement, self.statement)

    def _sizes(self, node: Allocate) -> tuple[Expr, ...]:
        """The sizes of an allocation. If they vary but have a small upper bound, that bound is the
        size, so that the allocation lies on the stack.
        """
        if node.memory is MemoryType.HEAP or all(isinstance(e, Const) for e in node.extents):
            return node.extents
        total = 1
        for extent in node.extents:
            least = self.known.lower(self.known.polynomial(extent).scaled(-1))
            if least is None or least >= 0:
                return node.extents
            total *= -least
        fits = total * node.type.bytes <= AUTO_STACK_BYTES
        return (constant(total, Int32),) if fits else node.extents

    def _loop(self, loop: For) -> Statement:
        low, extent = self.known(loop.min), self.known(loop.extent)
        if isinstance(extent, Const) and extent.value <= 0:
            return EMPTY
        if extent is _ONE and not loop.kind.is_gpu:
            return self.statement(bind(loop.body, loop.var, low))
        inner = _Simplification(inside_loop(self.known, loop.var, low, extent))
        body = inner.statement(loop.body)
        if body == EMPTY and not loop.kind.is_gpu:
            return EMPTY
        result = evolve(loop, min=low, extent=extent, body=body)
        if isinstance(body, If) and body.otherwise is None and not loop.kind.is_gpu:
            return _hoisted(result, body)
        return result

    def _guard(self, guard: If) -> Statement:
        condition = self.value(guard.condition)
        if isinstance(condition, Const):
            taken = guard.body if condition.value else guard.otherwise
            return EMPTY if taken is None else self.statement(taken)
        body = self.statement(guard.body)
        otherwise = EMPTY if guard.otherwise is None else self.statement(guard.otherwise)
        # Evaluating a condition has no effect, so a guard without statements is dropped.
        if body == otherwise == EMPTY:
            return EMPTY
        return If(condition, body, None if otherwise == EMPTY else otherwise)

    def value(self, value: Expr) -> Expr:
        """The value with simpler coordinates and conditions, constants evaluated; the rest of its
        arithmetic stays as written.
        """

        def simpler(node: Expr) -> Expr:
            if isinstance(node, Call):
                return node.with_children(tuple(self.known(a) for a in node.args))
            simple = self.known(node) if is_comparison_of_coordinates(node) else node
            return folded(evaluated(simple))

        return rewrite(value, simpler, self._done)


def _hoisted(loop: For, guard: If) -> Statement:
    """``for v { if (c) s }`` as ``if (c) for v { s }`` where ``c`` does not vary with ``v``."""
    fixed: list[Expr] = []
    varying: list[Expr] = []
    inner: Statement = guard
    while isinstance(inner, If) and inner.otherwise is None:
        for condition in conjuncts(inner.condition):
            varies = condition.loads or loop.var.name in condition.names
            (varying if varies else fixed).append(condition)
        inner = inner.body
    if not fixed:
        return loop
    return _under(fixed, evolve(loop, body=_under(varying, inner)))


def _under(conditions: list[Expr], statement: Statement) -> Statement:
    for condition in reversed(conditions):
        statement = If(condition, statement)
    return statement
