"""Proofs that an expression only grows, or only falls, with a loop variable; sliding windows need
them.
"""

from __future__ import annotations

from spaces.model.expressions.expr import Const, Expr, Op, Variable, walk
from spaces.model.expressions.rewrite import substitute
from spaces.model.formulas.simplify import Simplifier


def never_decreases(expr: Expr, var: Variable, simplify: Simplifier) -> bool:
    """Whether ``expr`` at ``var + 1`` is provably at least ``expr`` at ``var``."""
    return directions(expr, var, simplify)[0]


def never_increases(expr: Expr, var: Variable, simplify: Simplifier) -> bool:
    """Whether ``expr`` at ``var + 1`` is provably at most ``expr`` at ``var``."""
    return directions(expr, var, simplify)[1]


def directions(expr: Expr, var: Variable, simplify: Simplifier) -> tuple[bool, bool]:
    """Whether ``expr`` provably never decreases, and whether it never increases, with ``var``."""
    rising: dict[Expr, bool] = {}
    falling: dict[Expr, bool] = {}
    for node in walk(simplify(expr)):
        if var.name not in node.names:
            rising[node] = falling[node] = True
            continue
        rising[node], falling[node] = _directions(node, var, rising, falling, simplify)
    whole = simplify(expr)
    return rising[whole], falling[whole]


def _directions(
    node: Expr,
    var: Variable,
    rising: dict[Expr, bool],
    falling: dict[Expr, bool],
    simplify: Simplifier,
) -> tuple[bool, bool]:
    """(never decreases, never increases) for one node, from the same facts about its operands."""
    if node is var:
        return True, False
    if not isinstance(node, Op):
        return False, False
    if node.name in ("add", "min", "max"):
        return all(rising[a] for a in node.args), all(falling[a] for a in node.args)
    if node.name == "sub":
        a, b = node.args
        return rising[a] and falling[b], falling[a] and rising[b]
    if node.name in ("mul", "div") and var.name not in node.args[1].names:
        a, b = node.args
        sign = _sign(b, simplify)
        if sign > 0:
            return rising[a], falling[a]
        if sign < 0 and node.name == "mul":
            return falling[a], rising[a]
    if node.name == "mul" and _sign(node.args[0], simplify) > 0:
        return rising[node.args[1]], falling[node.args[1]]
    if node.name == "select":
        return _first_iteration(node, var, rising, falling, simplify)
    return False, False


def _first_iteration(
    node: Op,
    var: Variable,
    rising: dict[Expr, bool],
    falling: dict[Expr, bool],
    simplify: Simplifier,
) -> tuple[bool, bool]:
    """``select(var == first, a, b)`` never decreases if ``b`` does not and ``b`` at ``first`` is at
    least ``a``; likewise downwards.
    """
    condition, first, later = node.args
    if not (isinstance(condition, Op) and condition.name == "eq" and condition.args[0] is var):
        return False, False
    start = {var.name: condition.args[1]}
    a, b = simplify(substitute(first, start)), simplify(substitute(later, start))
    return rising[later] and simplify.at_most(a, b), falling[later] and simplify.at_most(b, a)


def _sign(expr: Expr, simplify: Simplifier) -> int:
    if isinstance(expr, Const):
        return (expr.value > 0) - (expr.value < 0)
    return 1 if simplify.proves_positive(simplify.polynomial(expr)) else 0
