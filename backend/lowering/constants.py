"""Evaluate what is constant in the values of a pipeline, with the arithmetic of the reference.

Inlining leaves such expressions behind: ``kernel(2)`` becomes ``exp(float32((0 - 2) * 2) / 4.5)``,
which no compiler evaluates where ``exp`` is a function of ours or may set an error number. The
cost models count on it: they count operations that vary only.
"""

from __future__ import annotations

import math

import numpy as np

from backend.arithmetic import convert, operate
from spaces.model.expressions.definitions import HINTS
from spaces.model.expressions.expr import Cast, Const, Expr, Op, constant


def evaluated(node: Expr) -> Expr:
    """The literal that a node over literals means; any other node as it is.

    What is no finite number is left alone: not every printer has a literal for it.
    """
    if not isinstance(node, Op | Cast) or node.type.lanes != 1:
        return node
    if isinstance(node, Op) and node.name in HINTS:
        return node
    operands = [c for c in node.children if isinstance(c, Const)]
    if len(operands) != len(node.children):
        return node
    values = [np.asarray(c.value, c.type.dtype) for c in operands]
    with np.errstate(all="ignore"):
        if isinstance(node, Cast):
            result = convert(node.type, values[0])
        else:
            result = np.asarray(operate(node.name, node.type, values))
    value = result.item()
    return constant(value, node.type) if math.isfinite(value) else node
