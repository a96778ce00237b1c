"""Claims: terms that must be at least 0 for a test of coordinates to have one outcome, and where
along a loop they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import frozen

from spaces.model.expressions.expr import Cast, Expr, Op, Variable, constant
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.simplify import Simplifier

Outcomes: TypeAlias = list[tuple[Expr, tuple[Expr, ...]]]
"""Values that an expression may take, each with the terms that must all be at least 0 for it."""


@frozen
class LoopLimit:
    """The variable of a loop must be at least ``bound`` if the limit ``is_low``, else at most."""

    is_low: bool
    bound: Expr


def limit_along(var: Variable, claim: Expr, known: Simplifier) -> LoopLimit | None:
    """Where along the loop of ``var`` the claim is at least 0; None if unknown."""
    parts = known.polynomial(claim).split(var)
    slope = None if parts is None else parts[0].constant
    if parts is None or not slope:
        return None
    rest = parts[1].expr()
    if rest.loads or var.name in rest.names:
        return None
    if slope > 0:
        return LoopLimit(True, known(constant(0, Int32) - rest / constant(slope, Int32)))
    return LoopLimit(False, known(rest / constant(-slope, Int32)))


def claims(node: Expr) -> Outcomes:
    """The values that a test of coordinates may take; empty for any other expression."""
    match node:
        case Cast(type=to, value=Op(name="abs", args=(a,))) if to == a.type == Int32:
            minus = constant(0, Int32) - a
            return [(a, (a,)), (minus, (minus,))]
        case Op(name=name, args=(a, b)) if name in _CLAIMS and a.type == Int32:
            return _CLAIMS[name](a, b)
    return []


def _less(a: Expr, b: Expr) -> Outcomes:
    return [(constant(True, Bool), (b - a - 1,)), (constant(False, Bool), (a - b,))]


def _at_most(a: Expr, b: Expr) -> Outcomes:
    return [(constant(True, Bool), (b - a,)), (constant(False, Bool), (a - b - 1,))]


def _equal(a: Expr, b: Expr) -> Outcomes:
    return [(constant(False, Bool), (a - b - 1,))]


_CLAIMS: Mapping[str, Callable[[Expr, Expr], Outcomes]] = {
    "min": lambda a, b: [(a, (b - a,)), (b, (a - b,))],
    "max": lambda a, b: [(a, (a - b,)), (b, (b - a,))],
    "mod": lambda a, b: [(a, (a, b - 1 - a))],
    "lt": _less,
    "le": _at_most,
    "gt": lambda a, b: _less(b, a),
    "ge": lambda a, b: _at_most(b, a),
    "eq": _equal,
}
