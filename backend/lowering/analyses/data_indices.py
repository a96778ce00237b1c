"""Coordinates that are calculated from what is read, which wrap where those of loops do not.

Places are calculated in more bits than an int32 has, since sums of loop variables and sizes need no
fewer. A sum of numbers that are read may not be taken apart for that: it has the bits of its type.
"""

from __future__ import annotations

from spaces.model.expressions.expr import Expr, Op
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier

_SUMS = ("add", "sub", "mul")


def wrapping(index: Expr) -> Expr:
    """The same coordinate, in which sums of what is read that may wrap stand for themselves: behind
    a conversion that changes nothing.
    """
    if not index.loads:
        return index
    simplify = Simplifier()

    def kept(node: Expr) -> Expr:
        is_sum = isinstance(node, Op) and node.type == Int32 and node.name in _SUMS
        if not (is_sum and node.loads) or simplify.never_wrap(simplify.polynomial(node)):
            return node
        return Op(Int32, "reinterpret", (node,))

    return rewrite(index, kept)
