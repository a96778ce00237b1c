"""The range of a float, from the way it is computed. A cast to an integer need not limit the float
further.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from spaces.backend.ir.vectors import Broadcast
from spaces.model.expressions.expr import Cast, Const, Expr, Op

_DEPTH = 6
"""The depth of operations that the analysis follows."""

_EXACT_BITS = 16
"""Every integer of up to this many bits is a float of any type."""

_LARGEST = 1e30
"""Floats of any type below this limit do not overflow."""

_MARGIN = 1e-5
"""The most that rounding, in any order, adds to a sum or product, relative to its largest term."""


@frozen
class FloatRange:
    """A range of a float that is not NaN; ``is_number`` if the float is never NaN."""

    low: float = -math.inf
    high: float = math.inf
    is_number: bool = False


UNKNOWN = FloatRange()


def float_range(expr: Expr, depth: int = _DEPTH) -> FloatRange:
    """The range of a float expression, in every lane."""
    match expr:
        case Const(value=value):
            return FloatRange(value, value, math.isfinite(value))
        case Broadcast(value=value):
            return float_range(value, depth)
        case Cast(value=value) if not value.type.is_float:
            if value.type.bits > _EXACT_BITS:
                return FloatRange(is_number=True)
            return FloatRange(float(value.type.min_value), float(value.type.max_value), True)
        case Op(name=name, args=args) if depth and name in _RULES:
            operands = args[1:] if name == "select" else args
            return _RULES[name](*(float_range(a, depth - 1) for a in operands))
    return UNKNOWN


def _min(a: FloatRange, b: FloatRange) -> FloatRange:
    """``a < b ? a : b``, which is ``b`` if one of them is NaN."""
    high = min(a.high, b.high) if a.is_number else b.high
    return FloatRange(min(a.low, b.low), high, b.is_number)


def _max(a: FloatRange, b: FloatRange) -> FloatRange:
    """``a > b ? a : b``, which is ``b`` if one of them is NaN."""
    low = max(a.low, b.low) if a.is_number else b.low
    return FloatRange(low, max(a.high, b.high), b.is_number)


def _either(a: FloatRange, b: FloatRange) -> FloatRange:
    return FloatRange(min(a.low, b.low), max(a.high, b.high), a.is_number and b.is_number)


def _corners(
    apply: Callable[[float, float], float],
) -> Callable[[FloatRange, FloatRange], FloatRange]:
    """The range of an operation that is monotonic in both operands, if they are finite."""

    def limits(a: FloatRange, b: FloatRange) -> FloatRange:
        ends = (a.low, a.high, b.low, b.high)
        found = [apply(x, y) for x in ends[:2] for y in ends[2:]]
        if not all(abs(e) < _LARGEST for e in (*ends, *found)):
            return UNKNOWN
        slack = _MARGIN * max(abs(e) for e in (*ends, *found))
        return FloatRange(min(found) - slack, max(found) + slack, a.is_number and b.is_number)

    return limits


_Rule: TypeAlias = Callable[..., FloatRange]

_RULES: dict[str, _Rule] = {
    "min": _min,
    "max": _max,
    "select": _either,
    "add": _corners(operator.add),
    "sub": _corners(operator.sub),
    "mul": _corners(operator.mul),
}
