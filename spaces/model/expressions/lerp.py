"""Linear interpolation with Halide's rounding."""

from __future__ import annotations

from spaces.model.expressions.expr import Expr, binary, cast, compare, constant
from spaces.model.expressions.functions import select
from spaces.model.expressions.types import Float64, Type


def blended(type: Type, zero: Expr, one: Expr, weight: Expr) -> Expr:
    """The interpolation from ``zero`` (at weight 0) to ``one`` (at weight 1, or at the largest
    value of an unsigned weight), rounded to the nearest value of ``type``.
    """
    if type.is_float:
        part, rest = _float_weights(type, weight)
        return cast(type, binary("add", zero * rest, one * part))
    if type.is_bool:
        half = 0.5 if weight.type.is_float else weight.type.max_value // 2
        return select(compare("gt", weight, constant(half, weight.type)), one, zero)
    if type.is_int:
        # Distances from the smallest value are unsigned.
        unsigned = Type("uint", type.bits)
        lowest = constant(type.min_value, unsigned)
        ends = (cast(unsigned, zero) - lowest, cast(unsigned, one) - lowest)
        return cast(type, _blended_unsigned(unsigned, *ends, weight) + lowest)
    return _blended_unsigned(type, zero, one, weight)


def _float_weights(type: Type, weight: Expr) -> tuple[Expr, Expr]:
    if not weight.type.is_float:
        largest = constant(float(weight.type.max_value), type)
        weight = cast(type, weight) / largest
    return weight, constant(1.0, type) - weight


def _blended_unsigned(type: Type, zero: Expr, one: Expr, weight: Expr) -> Expr:
    part = _scaled_weight(type, weight)
    rest = constant(type.max_value, type) - part
    wide = Type("uint", 2 * type.bits)
    total = cast(wide, zero) * cast(wide, rest) + cast(wide, one) * cast(wide, part)
    largest = type.max_value
    return cast(type, (total + constant(largest // 2, wide)) / constant(largest, wide))


def _scaled_weight(type: Type, weight: Expr) -> Expr:
    """The weight as a number of steps, where the largest value of ``type`` stands for 1."""
    if weight.type.is_float:
        exact = Float64 if type.bits == 32 else weight.type
        return cast(type, constant(float(type.max_value), exact) * cast(exact, weight))
    given, wanted = weight.type.max_value, type.max_value
    if weight.type.bits <= type.bits:  # 65535 is 257 * 255, and so on
        return cast(type, weight) * constant(wanted // given, type)
    return cast(type, weight / constant(given // wanted, weight.type))
