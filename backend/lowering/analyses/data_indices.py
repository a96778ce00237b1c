"""Coordinates calculated from data, which wrap where coordinates of loops do not.

Code calculates indices in more bits than int32 has, because sums of loop variables and sizes never
wrap there. It must not split a sum of data for this: such a sum wraps at the bits of its type.
"""

from __future__ import annotations

from spaces.model.expressions.expr import Expr, Op
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier

_SUMS = ("add", "sub", "mul")


def wrapping(index: Expr) -> Expr:
    """Returns the same coordinate, with a conversion that changes nothing around each sum of data
    that may wrap. The conversion keeps later code from splitting the sum.
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
