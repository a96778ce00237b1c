"""Conditions on coordinates and values that ``require`` writes into expressions.

Each is an operator of (condition, value, parts of a message) that equals the value. Code that
computes the value finds the conditions by :func:`required`, checks each of them, and stops with the
message if one fails. A condition on sizes and parameters alone is a promise of the pipeline
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from attrs import frozen

from spaces.model.expressions.definitions import LIKELY_AT, REQUIRE, SAYING, arithmetic
from spaces.model.expressions.expr import Call, Expr, Op, Text, walk
from spaces.model.expressions.message import Message


@frozen
class Requirement:
    """A condition that must hold wherever an expression is computed, and its message."""

    condition: Expr
    parts: tuple[Expr, ...]

    @property
    def message(self) -> Message:
        """The message of a run in which the condition fails."""
        return Message.of(self.parts)

    @property
    def values(self) -> tuple[Expr, ...]:
        """The expressions whose values stand in the message."""
        return tuple(part for part in self.parts if not isinstance(part, Text))


def requiring(condition: Expr, value: Expr, parts: tuple[Expr, ...]) -> Expr:
    """``value``, with the requirement that ``condition`` holds; ``parts`` are the message."""
    return Op(value.type, REQUIRE, (condition, value, *parts))


def required(*roots: Expr) -> Iterator[Requirement]:
    """Yields the requirements in ``roots``, each once, inner ones first."""
    found = dict.fromkeys(
        Requirement(condition, tuple(parts))
        for node in walk(*roots)
        if isinstance(node, Op) and node.name == REQUIRE
        for condition, _, *parts in [node.args]
    )
    yield from found


def reading(call: Call, value: Callable[[Call], Expr] = lambda plain: plain) -> Expr:
    """The ``value`` of a call whose coordinates become plain arithmetic. The requirements of the
    coordinates move to the value, and their ``likely`` hints stand beside it (``likely_at``).
    """
    conditions = tuple(required(*call.args))
    plain = Call(call.type, call.target, tuple(map(arithmetic, call.args)), call.component)
    hinted = _with_hints(value(plain), call.args)
    return reduce(lambda e, r: requiring(r.condition, e, r.parts), conditions, hinted)


def _with_hints(value: Expr, args: Sequence[Expr]) -> Expr:
    """``value``, with the ``likely`` hints of the coordinates ``args`` and coordinates in them."""
    if not any(isinstance(n, Op) and n.name in SAYING for n in walk(*args)):
        return value
    return Op(value.type, LIKELY_AT, (value, *(arithmetic(a, SAYING) for a in args)))
