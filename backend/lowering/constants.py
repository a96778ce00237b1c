"""Evaluate what is constant in the values of a pipeline, with the arithmetic of the reference.

Inlining leaves such expressions behind: ``kernel(2)`` becomes ``exp(float32((0 - 2) * 2) / 4.5)``,
which no compiler evaluates where ``exp`` is a function of ours or may set an error number. The
cost models count on it: they count operations that vary only.
"""

from __future__ import annotations

import math

from backend.arithmetic import value_of
from spaces.model.expressions.definitions import SAYING
from spaces.model.expressions.expr import Cast, Const, Expr, Op, constant


def evaluated(node: Expr) -> Expr:
    """The literal that a node over literals means; any other node as it is.

    What is no finite number is left alone: not every printer has a literal for it.
    """
    if not isinstance(node, Op | Cast) or node.type.lanes != 1:
        return node
    if isinstance(node, Op) and node.name in SAYING:
        return node
    if not all(isinstance(child, Const) for child in node.children):
        return node
    value = value_of(node, {})
    return constant(value, node.type) if math.isfinite(value) else node
