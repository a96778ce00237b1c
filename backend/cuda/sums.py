"""Sums of int: taken apart into terms, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeGuard

from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Int32

_MOST_TERMS = 64
"""From this many terms on, a sum is not taken apart further."""


def is_sum(expr: Expr) -> TypeGuard[Op]:
    """Whether an expression is a sum or a difference of int."""
    return isinstance(expr, Op) and expr.type is Int32 and expr.name in ("add", "sub")


def terms_of(expr: Expr) -> list[tuple[Expr, int]]:
    """The terms of a sum of int, each with its sign, in order. Parts of a long sum count as terms,
    because a sum whose parts are shared may have more terms than memory holds.
    """
    found: list[tuple[Expr, int]] = []
    stack = [(expr, 1)]
    while stack:
        node, sign = stack.pop()
        if is_sum(node) and len(found) + len(stack) < _MOST_TERMS:
            a, b = node.args
            stack += [(b, sign if node.name == "add" else -sign), (a, sign)]
        else:
            found.append((node, sign))
    return found


def sum_of(terms: Sequence[tuple[Expr, int]]) -> Expr:
    """The sum of some terms, which begins with one that is added."""
    first, *rest = sorted(terms, key=lambda term: -term[1])
    if first[1] < 0:
        first, rest = (constant(0, Int32), 1), [first, *rest]
    return reduce(
        lambda total, term: Op(Int32, "add" if term[1] > 0 else "sub", (total, term[0])),
        rest,
        first[0],
    )


def plus(expr: Expr, number: int) -> Expr:
    """An expression plus a number, or minus its magnitude."""
    if number == 0:
        return expr
    name = "sub" if number < 0 else "add"
    return Op(Int32, name, (expr, constant(Int32.wrap(abs(number)), Int32)))
