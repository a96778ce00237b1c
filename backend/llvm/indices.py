"""Flat indices of vectors: the step between lanes, and the terms that all lanes share."""

from __future__ import annotations

from typing import TypeAlias

from spaces.backend.ir.vectors import Broadcast, Ramp
from spaces.model.expressions.expr import Const, Expr, Op, constant
from spaces.model.expressions.types import Int32

IndexTerm: TypeAlias = tuple[int, Expr]
"""A part of a sum with its sign, 1 or -1."""


def step_of(index: Expr) -> int | None:
    """The step between the lanes of an index, in elements; 0 for a scalar, None if it varies."""
    if index.type.lanes == 1:
        return 0
    if isinstance(index, Ramp) and isinstance(index.stride, Const):
        return int(index.stride.value)
    return None


def lane_terms(index: Expr) -> tuple[list[IndexTerm], list[IndexTerm]]:
    """The terms of a vector index: terms that all lanes share, and terms that vary."""
    shared: list[IndexTerm] = []
    varying: list[IndexTerm] = []
    for sign, term in terms_of(index):
        if isinstance(term, Broadcast):
            shared += [(sign * s, t) for s, t in terms_of(term.value)]
        elif isinstance(term, Ramp):
            shared += [(sign * s, t) for s, t in terms_of(term.base)]
            varying.append((sign, Ramp(term.type, constant(0, Int32), term.stride)))
        else:
            varying.append((sign, term))
    return shared, varying


def scaled(term: Expr) -> tuple[Expr, Expr | None]:
    """The varying part of a vector term, and its factor, the same in all lanes: mostly a stride.

    Lanes are coordinates of 32 bits; their products with strides may need more bits.
    """
    match term:
        case Ramp(base=Const(value=0), stride=stride) if not isinstance(stride, Const):
            return Ramp(term.type, constant(0, Int32), constant(1, Int32)), stride
        case Op(name="mul", args=(Broadcast(value=scale), varying)):
            return varying, scale
        case Op(name="mul", args=(varying, Broadcast(value=scale))):
            return varying, scale
    return term, None


def terms_of(index: Expr) -> list[IndexTerm]:
    """The signed terms that add up to an index."""
    found: list[IndexTerm] = []
    stack = [(1, index)]
    while stack:
        sign, node = stack.pop()
        if isinstance(node, Op) and node.name in ("add", "sub") and node.type.element == Int32:
            a, b = node.args
            stack += [(sign if node.name == "add" else -sign, b), (sign, a)]
        else:
            found.append((sign, node))
    return found
