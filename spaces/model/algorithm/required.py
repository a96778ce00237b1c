"""Conditions on coordinates and values that ``require`` writes into expressions.

Each is an operator of (condition, value, parts of a message) and has the value; :func:`required`
finds them for those who compute it, who ask the condition wherever they do and stop with the
message. A condition on sizes and parameters alone is none of these: it is a promise of the
pipeline.
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
    """What must hold wherever an expression is computed, and what to say where it does not."""

    condition: Expr
    parts: tuple[Expr, ...]

    @property
    def message(self) -> Message:
        """What is said."""
        return Message.of(self.parts)

    @property
    def values(self) -> tuple[Expr, ...]:
        """The expressions of which the message tells the values."""
        return tuple(part for part in self.parts if not isinstance(part, Text))


def requiring(condition: Expr, value: Expr, parts: tuple[Expr, ...]) -> Expr:
    """``value``, computed only where ``condition`` holds."""
    return Op(value.type, REQUIRE, (condition, value, *parts))


def required(*roots: Expr) -> Iterator[Requirement]:
    """What some expressions require, each once, inner ones first."""
    found = dict.fromkeys(
        Requirement(condition, tuple(parts))
        for node in walk(*roots)
        if isinstance(node, Op) and node.name == REQUIRE
        for condition, _, *parts in [node.args]
    )
    yield from found


def reading(call: Call, value: Callable[[Call], Expr] = lambda plain: plain) -> Expr:
    """The ``value`` of a call with arithmetic alone in its coordinates. What they require the value
    requires, and what is likely in them is said beside it.
    """
    conditions = tuple(required(*call.args))
    plain = Call(call.type, call.target, tuple(map(arithmetic, call.args)), call.component)
    hinted = _with_hints(value(plain), call.args)
    return reduce(lambda e, r: requiring(r.condition, e, r.parts), conditions, hinted)


def _with_hints(value: Expr, args: Sequence[Expr]) -> Expr:
    """What is read, and what is likely in the coordinates, and in those of what they read."""
    if not any(isinstance(n, Op) and n.name in SAYING for n in walk(*args)):
        return value
    return Op(value.type, LIKELY_AT, (value, *(arithmetic(a, SAYING) for a in args)))
