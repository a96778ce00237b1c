"""Identities: operations that equal one of their operands or a constant.

Passes leave such operations behind. An inlined ``kernel(2)`` becomes
``exp(float32((0 - 2) * 2) / 4.5)``; a decided test becomes ``select(true, a, b)``; the first of
several vectors becomes ``x + 0``. Float arithmetic has no identities here: ``x + 0.0`` is not ``x``
where ``x`` is ``-0.0``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from attrs import frozen

from spaces.backend.arithmetic import value_of
from spaces.model.expressions.definitions import SAYING
from spaces.model.expressions.expr import Cast, Const, Expr, Op, constant
from spaces.model.expressions.types import Bool, Int32, Type


@frozen
class Identity:
    """``operator`` over ``operands`` is ``result``.

    A letter stands for any expression. Either one operand is a constant number (for conditions, 0
    is false and 1 is true), or one letter stands twice. The result is a number or one of the
    letters.
    """

    operator: str
    operands: tuple[str | int, ...]
    result: str | int


CONDITIONS = (
    Identity("select", (1, "a", "b"), "a"),
    Identity("select", (0, "a", "b"), "b"),
    Identity("not", (1,), 0),
    Identity("not", (0,), 1),
    Identity("and", (0, "a"), 0),
    Identity("and", (1, "a"), "a"),
    Identity("and", ("a", 0), 0),
    Identity("and", ("a", 1), "a"),
    Identity("and", ("a", "a"), "a"),
    Identity("or", (0, "a"), "a"),
    Identity("or", (1, "a"), 1),
    Identity("or", ("a", 0), "a"),
    Identity("or", ("a", 1), 1),
    Identity("or", ("a", "a"), "a"),
)
"""Identities of conditions and of selections by conditions."""

COORDINATES = (
    Identity("add", (0, "a"), "a"),
    Identity("add", ("a", 0), "a"),
    Identity("sub", ("a", 0), "a"),
    Identity("mul", (1, "a"), "a"),
    Identity("mul", ("a", 1), "a"),
    Identity("div", ("a", 1), "a"),
)
"""Identities of integers."""


_Key: TypeAlias = tuple[str, int, int | float] | str
"""Operator, place of the number and number; the operator alone where a letter stands twice."""


def _key(identity: Identity) -> _Key:
    for place, operand in enumerate(identity.operands):
        if isinstance(operand, int):
            return identity.operator, place, operand
    return identity.operator


def _results(identities: tuple[Identity, ...], type: Type) -> Mapping[_Key, int | Expr]:
    """What identities of a type equal: the operand at a place, or a constant."""
    return {
        _key(one): constant(one.result, type)
        if isinstance(one.result, int)
        else one.operands.index(one.result)
        for one in identities
    }


_CONDITIONS, _COORDINATES = _results(CONDITIONS, Bool), _results(COORDINATES, Int32)
_OF_CONDITIONS = frozenset(identity.operator for identity in CONDITIONS)


def folded(node: Expr) -> Expr:
    """The node without constant conditions; its arithmetic stays as written."""
    if not isinstance(node, Op) or node.name not in _OF_CONDITIONS:
        return node
    result = _result(_CONDITIONS, node.name, node.args)
    return node if result is None else result


def coordinate(operator: str, a: Expr, b: Expr) -> Expr:
    """An operation on int32 coordinates, or the operand that it equals."""
    operands = (a, b)
    result = _result(_COORDINATES, operator, operands)
    return Op(Int32, operator, operands) if result is None else result


def _result(
    results: Mapping[_Key, int | Expr], operator: str, operands: tuple[Expr, ...]
) -> Expr | None:
    found = results.get(operator) if operands[0] is operands[-1] else None
    for place, operand in enumerate(operands):
        if isinstance(operand, Const):
            found = results.get((operator, place, operand.value), found)
    return operands[found] if isinstance(found, int) else found


def evaluated(node: Expr) -> Expr:
    """Returns the literal that a node over literals equals by the arithmetic of the reference;
    returns any other node unchanged.

    A node without a finite value stays: not every printer has a literal for it.
    """
    if not isinstance(node, Op | Cast) or node.type.lanes != 1:
        return node
    if isinstance(node, Op) and node.name in SAYING:
        return node
    for child in node.children:
        if not isinstance(child, Const):
            return node
    return _literal(node)


@lru_cache(maxsize=4096)
def _literal(node: Expr) -> Expr:
    value = value_of(node, {})
    return constant(value, node.type) if math.isfinite(value) else node
