"""Identities: operations that equal one of their operands or a constant.

Passes leave such operations behind. An inlined ``kernel(2)`` becomes
``exp(float32((0 - 2) * 2) / 4.5)``; a decided test becomes ``select(true, a, b)``; the first of
several vectors becomes ``x + 0``. Float arithmetic has no identities here: ``x + 0.0`` is not ``x``
where ``x`` is ``-0.0``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from attrs import field, frozen

from backend.arithmetic import value_of
from spaces.model.expressions.definitions import SAYING
from spaces.model.expressions.expr import Cast, Const, Expr, Op, constant
from spaces.model.expressions.types import Int32, Type


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
    _number: int | None = field(init=False, repr=False)
    _place: int = field(init=False, repr=False)
    _chosen: int = field(init=False, repr=False)

    @_number.default
    def _find_number(self) -> int | None:
        return next((one for one in self.operands if isinstance(one, int)), None)

    @_place.default
    def _place_of_number(self) -> int:
        return 0 if self._number is None else self.operands.index(self._number)

    @_chosen.default
    def _place_of_result(self) -> int:
        return self.operands.index(self.result) if isinstance(self.result, str) else 0

    def of(self, operands: tuple[Expr, ...], type: Type) -> Expr | None:
        """The result, of ``type``, for these operands; None if the identity does not match them."""
        operand = operands[self._place]
        if self._number is None:
            if operand is not operands[1]:
                return None
        elif not isinstance(operand, Const) or operand.value != self._number:
            return None
        if isinstance(self.result, int):
            return constant(self.result, type)
        return operands[self._chosen]


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


def _by_operator(identities: tuple[Identity, ...]) -> Mapping[str, tuple[Identity, ...]]:
    found: dict[str, tuple[Identity, ...]] = defaultdict(tuple)
    for identity in identities:
        found[identity.operator] += (identity,)
    return dict(found)


_CONDITIONS, _COORDINATES = _by_operator(CONDITIONS), _by_operator(COORDINATES)


def folded(node: Expr) -> Expr:
    """The node without constant conditions; its arithmetic stays as written."""
    if not isinstance(node, Op) or node.name not in _CONDITIONS:
        return node
    result = _result(_CONDITIONS[node.name], node.args, node.type)
    return node if result is None else result


def coordinate(operator: str, a: Expr, b: Expr) -> Expr:
    """An operation on int32 coordinates, or the operand that it equals."""
    result = _result(_COORDINATES.get(operator, ()), (a, b), Int32)
    return Op(Int32, operator, (a, b)) if result is None else result


def _result(
    identities: tuple[Identity, ...], operands: tuple[Expr, ...], type: Type
) -> Expr | None:
    for identity in identities:
        result = identity.of(operands, type)
        if result is not None:
            return result
    return None


def evaluated(node: Expr) -> Expr:
    """Returns the literal that a node over literals equals by the arithmetic of the reference;
    returns any other node unchanged.

    A node without a finite value stays: not every printer has a literal for it.
    """
    if not isinstance(node, Op | Cast) or node.type.lanes != 1:
        return node
    if isinstance(node, Op) and node.name in SAYING:
        return node
    if not all(isinstance(child, Const) for child in node.children):
        return node
    return _literal(node)


@lru_cache(maxsize=4096)
def _literal(node: Expr) -> Expr:
    value = value_of(node, {})
    return constant(value, node.type) if math.isfinite(value) else node
