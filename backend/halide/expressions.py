"""Expressions as Halide's expressions: the same tree, with every operand already cast to its
type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.peer import hl, peer_type
from spaces.model.expressions.definitions import (
    CONVERSIONS,
    LANGUAGE,
    LIKELY_AT,
    RANDOM,
    UNDEFINED,
    expanded,
)
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Text, Variable, walk
from spaces.model.expressions.operators import INFIX


def peer_function(name: str) -> Callable[..., Any]:
    """Halide's function of that name; one that refuses its operands if Halide has none."""

    def refuse(*operands: Any) -> Any:
        raise DirectiveError(f"Halide has no function {name}; write it with other functions.")

    return getattr(hl, name, refuse)


_OPERATORS: Mapping[str, Callable[..., Any]] = {
    **{name: peer_function(name) for name in LANGUAGE},
    **{name: one.applied for name, one in INFIX.items()},
    "not": hl.logical_not,
    "bit_not": operator.invert,
    # Halide's Python package takes no text here; it shows the condition itself, and values.
    "require": lambda condition, value, *message: hl.require(
        condition, value, *(part for part in message if not isinstance(part, str))
    ),
    "mux": lambda index, *values: hl.mux(index, list(values)),
}


def peer_constant(node: Const) -> Any:
    """A literal of exactly the type of ``node``."""
    if node.type.is_float:
        return hl.cast(peer_type(node.type), hl.f64(float(node.value)))
    wide = hl.u64 if node.type.is_uint else hl.i64
    return hl.cast(peer_type(node.type), wide(int(node.value)))


def peer_expressions(
    roots: Sequence[Expr],
    variable: Callable[[Variable], Any],
    call: Callable[[Call, list[Any]], Any],
) -> list[Any]:
    """Each root as an expression of Halide; shared subexpressions stay shared.

    ``variable`` and ``call`` give the expression of a variable, and of a call at coordinates.
    """
    done: dict[Expr, Any] = {}
    roots = [expanded(root, RANDOM) for root in roots]
    for node in walk(*roots):
        operands = [done[c] for c in node.children]
        match node:
            case Const():
                done[node] = peer_constant(node)
            case Variable():
                done[node] = variable(node)
            case Text(words=words):
                done[node] = words
            case Cast():
                done[node] = hl.cast(peer_type(node.type), operands[0])
            case Op(name=name, args=(Call() as read, *_)) if name == LIKELY_AT:
                done[node] = call(read, operands[1:])
            case Op(name=name) if name in (*CONVERSIONS, UNDEFINED):
                done[node] = _OPERATORS[name](peer_type(node.type), *operands)
            case Op():
                done[node] = _OPERATORS[node.name](*operands)
            case Call():
                done[node] = call(node, operands)
    return [done[root] for root in roots]
