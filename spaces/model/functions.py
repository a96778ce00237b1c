"""Functions on expressions that a pipeline is written with, under Halide's names."""

from __future__ import annotations

from spaces.model.expr import Expr, ExprLike, Op, as_expr, binary, cast, match
from spaces.model.types import Float32, Float64, Type


def select(condition: ExprLike, if_true: ExprLike, if_false: ExprLike) -> Expr:
    """``if_true`` where ``condition`` holds, else ``if_false``.

    Raises:
        TypeError: ``condition`` is not a condition.
    """
    test = as_expr(condition)
    if not test.type.is_bool:
        raise TypeError(f"select needs a condition first, and `{test}` is {test.type}.")
    a, b = match(if_true, if_false)
    return Op(a.type, "select", (test, a, b))


def min(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The smaller of the operands, in their common type."""
    result = binary("min", a, b)
    return min(result, *more) if more else result


def max(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The larger of the operands, in their common type."""
    result = binary("max", a, b)
    return max(result, *more) if more else result


def clamp(value: ExprLike, low: ExprLike, high: ExprLike) -> Expr:
    """``value`` limited to ``[low, high]``; the limits take the type of ``value``."""
    v = as_expr(value)
    return max(min(v, cast(v.type, as_expr(high, v.type))), cast(v.type, as_expr(low, v.type)))


def _math(name: str, *values: ExprLike) -> Expr:
    args = [as_expr(v) for v in values]
    wide = any(a.type.is_float and a.type.bits == 64 for a in args)
    result = Float64 if wide else Float32
    return Op(result, name, tuple(cast(result, a) for a in args))


def sqrt(x: ExprLike) -> Expr:
    """Square root, in float32 unless ``x`` is float64 (as all functions of this group)."""
    return _math("sqrt", x)


def sin(x: ExprLike) -> Expr:
    """Sine of an angle in radians."""
    return _math("sin", x)


def cos(x: ExprLike) -> Expr:
    """Cosine of an angle in radians."""
    return _math("cos", x)


def tan(x: ExprLike) -> Expr:
    """Tangent of an angle in radians."""
    return _math("tan", x)


def exp(x: ExprLike) -> Expr:
    """E raised to ``x``."""
    return _math("exp", x)


def log(x: ExprLike) -> Expr:
    """Natural logarithm."""
    return _math("log", x)


def pow(x: ExprLike, y: ExprLike) -> Expr:
    """``x`` raised to ``y``."""
    return _math("pow", x, y)


def floor(x: ExprLike) -> Expr:
    """The largest whole number not above ``x``, still a float."""
    return _math("floor", x)


def ceil(x: ExprLike) -> Expr:
    """The smallest whole number not below ``x``, still a float."""
    return _math("ceil", x)


def abs(x: ExprLike) -> Expr:
    """Magnitude; of a signed integer it is unsigned of the same width, as in Halide."""
    value = as_expr(x)
    if value.type.is_uint:
        return value
    result = Type("uint", value.type.bits) if value.type.is_int else value.type
    return Op(result, "abs", (value,))
