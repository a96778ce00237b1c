"""Flat indices as a sum of terms that vary and a constant number."""

from __future__ import annotations

from collections import Counter

from attrs import frozen

from spaces.model.expressions.expr import Const, Expr, Op
from spaces.model.expressions.types import Int32


@frozen
class Origin:
    """An index as a sum: the factor of each term, and a number of elements.

    Two indices with the same terms are a known distance apart.
    """

    terms: frozenset[tuple[Expr, int]]
    offset: int


def origin_of(index: Expr) -> Origin:
    """The terms of a scalar index, and its constant number."""
    counts: Counter[Expr] = Counter()
    offset = 0
    stack = [(1, index)]
    while stack:
        times, node = stack.pop()
        match node:
            case Const(value=value):
                offset += times * int(value)
            case Op(name="add" | "sub" as name, args=(a, b)) if node.type == Int32:
                stack += [(times, a), (times if name == "add" else -times, b)]
            case Op(name="mul", args=(a, Const(value=factor))) if node.type == Int32:
                stack.append((times * int(factor), a))
            case _:
                counts[node] += times
    return Origin(frozenset((t, n) for t, n in counts.items() if n), offset)
