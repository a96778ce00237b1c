"""How many integers a range has and where it ends, at once where its ends are numbers.

In a loop nest at given sizes most of them are. A normal form takes some ten times as long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from spaces.model.expressions.expr import Const, Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier


def extent_of(low: Expr, high: Expr, simplify: Simplifier) -> Expr:
    """The number of integers from ``low`` to ``high``."""
    known = _number(lambda a, b: b - a + 1, low, high)
    return simplify(high - low + 1) if known is None else known


def last_of(low: Expr, extent: Expr, simplify: Simplifier) -> Expr:
    """The last of ``extent`` integers from ``low`` on."""
    known = _number(lambda a, b: a + b - 1, low, extent)
    return simplify(low + extent - 1) if known is None else known


def tiles_of(extent: Expr, factor: Expr, simplify: Simplifier) -> Expr:
    """The number of tiles of ``factor`` iterations that cover a loop."""
    is_positive = isinstance(factor, Const) and factor.value > 0
    known = _number(lambda a, b: -(-a // b), extent, factor) if is_positive else None
    return simplify((extent + factor - 1) / factor) if known is None else known


def divides(extent: Expr, factor: Expr, simplify: Simplifier) -> bool:
    """Whether tiles of ``factor`` iterations are known to cover a loop without a tail."""
    is_positive = isinstance(factor, Const) and factor.value > 0
    rest = _number(operator.mod, extent, factor) if is_positive else None
    rest = simplify(extent % factor) if rest is None else rest
    return isinstance(rest, Const) and not rest.value


def _number(combine: Callable[[int, int], int], a: Expr, b: Expr) -> Expr | None:
    """The result for two numbers, if int32 holds it."""
    if not (isinstance(a, Const) and isinstance(b, Const)):
        return None
    found = combine(int(a.value), int(b.value))
    return constant(found, Int32) if Int32.holds(found) else None
