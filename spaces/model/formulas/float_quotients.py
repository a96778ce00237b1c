"""Rewrites rounded quotients of floats as quotients of integers, where no float rounds.

``int32(floor(float32(x) / 2.0))`` is ``x / 2`` while x has at most 24 bits: both steps are exact.
Only divisors that are powers of two count. Other quotients round, and code with fast floats rounds
them otherwise.
"""

from __future__ import annotations

import math

from spaces.model.expressions.expr import Cast, Const, Expr, Op, cast, constant
from spaces.model.expressions.types import Int32, Type

EXACT: dict[int, int] = {32: 1 << 24, 64: 1 << 53}
"""By the bits of a float: every integer of at most this magnitude is one."""

_MOST = 1 << 30
"""The largest divisor that is an int32 power of two."""


def float_quotient(node: Expr) -> tuple[str, Expr, int] | None:
    """How a conversion of a float to int32 rounds (``floor``, ``ceil`` or ``trunc``), the integer
    that it divides, and the power of two by which; None if it is something else.
    """
    if not isinstance(node, Cast) or node.type is not Int32 or not node.value.type.is_float:
        return None
    rounding, value = "trunc", node.value
    if isinstance(value, Op) and value.name in ("floor", "ceil", "trunc"):
        rounding, value = value.name, value.args[0]
    divisor = 1.0
    match value:
        case Op(name="div", args=(whole, Const(value=by))):
            value, divisor = whole, float(by)
        case Op(name="mul", args=(whole, Const(value=by))) if by:
            value, divisor = whole, 1.0 / float(by)
    is_whole = isinstance(value, Cast) and _is_integer(value.value.type)
    is_power = 1 <= divisor <= _MOST and math.frexp(divisor)[0] == 0.5
    if not is_whole or not is_power:
        return None
    return rounding, value.children[0], int(divisor)


def _is_integer(type: Type) -> bool:
    return not type.is_float and not type.is_bool


def whole_quotient(node: Expr, whole: Expr, limits: tuple[int | None, int | None]) -> Expr | None:
    """The conversion ``node`` as integer arithmetic on ``whole``, the integer that it divides;
    None if some value within ``limits`` is no float, or the result differs.
    """
    found = float_quotient(node)
    low, high = limits
    if found is None or low is None or high is None:
        return None
    rounding, _, divisor = found
    most = EXACT.get(node.children[0].type.bits, 0)
    if low < -most or high > most or not (Int32.holds(low) and Int32.holds(high)):
        return None
    number, by = cast(Int32, whole), constant(divisor, Int32)
    if divisor == 1:
        return number
    if rounding == "floor" or (rounding == "trunc" and low >= 0):
        return number / by
    if rounding == "ceil" and Int32.holds(high + divisor - 1):
        return (number + constant(divisor - 1, Int32)) / by
    return None
