"""Functions that pipelines apply to expressions, under Halide's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, overload

from spaces.model.expressions.expr import (
    Arithmetic,
    Const,
    Expr,
    ExprLike,
    Op,
    as_expr,
    binary,
    cast,
    elementary,
    match,
    power,
)
from spaces.model.expressions.types import Type, promote

SelectArgument: TypeAlias = "ExprLike | Sequence[ExprLike]"
"""A value, or the values of a Tuple."""


@overload
def select(condition: ExprLike, if_true: ExprLike, if_false: ExprLike, *more: ExprLike) -> Expr: ...
@overload
def select(
    condition: SelectArgument,
    if_true: Sequence[ExprLike],
    if_false: SelectArgument,
    *more: SelectArgument,
) -> tuple[Expr, ...]: ...
@overload
def select(
    condition: SelectArgument,
    if_true: ExprLike,
    if_false: Sequence[ExprLike],
    *more: SelectArgument,
) -> tuple[Expr, ...]: ...
def select(
    condition: SelectArgument,
    if_true: SelectArgument,
    if_false: SelectArgument,
    *more: SelectArgument,
) -> Expr | tuple[Expr, ...]:
    """``if_true`` where ``condition`` holds, else ``if_false``. A signed integer constant takes the
    type of the other value.

    ``select(c1, v1, c2, v2, ..., default)`` gives the value of the first condition that holds. For
    Tuples, select works on each component; a Tuple of conditions gives each component its own.

    Raises:
        TypeError: a condition is not boolean, or a condition has no value after it, or the Tuples
            have different sizes.
    """
    parts = (condition, if_true, if_false, *more)
    each = tuple(map(_components, parts))
    if not any(each):
        return _select(*(part for part in parts if not isinstance(part, Sequence)))
    sizes = sorted({len(values) for values in each if values})
    ends = (*each[1::2], each[-1])
    if len(sizes) > 1 or not all(ends):
        raise TypeError(
            "select chooses between Tuples of one size, with one condition for all values or a "
            f"Tuple of conditions; the Tuples here have {sizes} values"
            f"{'' if all(ends) else ', and one argument is a single value'}."
        )
    rows = (values or (part,) * sizes[0] for values, part in zip(each, parts, strict=True))
    return tuple(_select(*row) for row in zip(*rows, strict=True))


def _components(value: SelectArgument) -> tuple[ExprLike, ...]:
    """The values of a Tuple; empty for a single value."""
    if isinstance(value, Arithmetic):
        return value.components()
    return tuple(value) if isinstance(value, Sequence) else ()


def _select(condition: ExprLike, if_true: ExprLike, if_false: ExprLike, *more: ExprLike) -> Expr:
    test = as_expr(condition)
    if not test.type.is_bool:
        raise TypeError(f"select needs a condition first, but `{test}` is {test.type}.")
    if len(more) == 1:
        raise TypeError(
            "select takes conditions, each with a value after it, and one value at the end; "
            "here the last condition has no value."
        )
    if more:
        if_false = _select(if_false, *more)
    if _is_signed_constant(if_true) and isinstance(if_false, Arithmetic):
        if_true = cast(as_expr(if_false).type, if_true)
    elif _is_signed_constant(if_false) and isinstance(if_true, Arithmetic):
        if_false = cast(as_expr(if_true).type, if_false)
    a, b = match(if_true, if_false)
    return Op(a.type, "select", (test, a, b))


def mux(index: ExprLike, values: Sequence[ExprLike]) -> Expr:
    """``values[index]``; the last value where ``index`` is out of range.

    Raises:
        TypeError: there are no values, or the values have several types, or ``index`` is a float.
    """
    at = as_expr(index)
    typed = next((as_expr(v).type for v in values if isinstance(v, Arithmetic)), None)
    chosen = tuple(as_expr(v, typed) for v in values)
    if not chosen or any(v.type != chosen[0].type for v in chosen) or at.type.is_float:
        shown = ", ".join(f"`{v}` of {v.type}" for v in chosen)
        raise TypeError(
            f"mux picks one of several values of one type by an integer; here it gets ({shown}) "
            f"and `{at}`, which is {at.type}."
        )
    return chosen[0] if len(chosen) == 1 else Op(chosen[0].type, "mux", (at, *chosen))


def _is_signed_constant(value: ExprLike) -> bool:
    return isinstance(value, Const) and value.type.is_int


def min(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The smaller of the operands, in their common type."""
    result = binary("min", a, b)
    return min(result, *more) if more else result


def max(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The larger of the operands, in their common type."""
    result = binary("max", a, b)
    return max(result, *more) if more else result


def clamp(value: ExprLike, low: ExprLike, high: ExprLike) -> Expr:
    """``value`` limited to ``[low, high]``; the limits take the type of ``value``.

    Raises:
        TypeError: the type of ``value`` does not hold all values of a limit's type.
    """
    v = as_expr(value)
    return max(min(v, _lossless(v, high)), _lossless(v, low))


def _lossless(value: Expr, limit: ExprLike) -> Expr:
    """``limit`` in the type of ``value``."""
    given = as_expr(limit, value.type)
    kept = (
        value.type.holds(int(given.value))
        if isinstance(given, Const) and not given.type.is_float
        else promote(value.type, given.type) == value.type and not _loses_sign(value, given)
    )
    if not kept:
        raise TypeError(
            f"clamp limits `{value}`, which is {value.type}, by `{given}`, which is {given.type}; "
            "cast one of them."
        )
    return cast(value.type, given)


def _loses_sign(value: Expr, limit: Expr) -> bool:
    """Whether ``limit`` is unsigned and too wide for the signed type of ``value``."""
    return value.type.is_int and limit.type.is_uint and limit.type.bits >= value.type.bits


def sqrt(x: ExprLike) -> Expr:
    """Square root, in float32 unless ``x`` is float64 (all functions of this group do so)."""
    return elementary("sqrt", x)


def sin(x: ExprLike) -> Expr:
    """Sine of an angle in radians."""
    return elementary("sin", x)


def cos(x: ExprLike) -> Expr:
    """Cosine of an angle in radians."""
    return elementary("cos", x)


def tan(x: ExprLike) -> Expr:
    """Tangent of an angle in radians."""
    return elementary("tan", x)


def asin(x: ExprLike) -> Expr:
    """The angle between -pi/2 and pi/2 with the sine ``x``."""
    return elementary("asin", x)


def acos(x: ExprLike) -> Expr:
    """The angle between 0 and pi with the cosine ``x``."""
    return elementary("acos", x)


def atan(x: ExprLike) -> Expr:
    """The angle between -pi/2 and pi/2 with the tangent ``x``."""
    return elementary("atan", x)


def atan2(y: ExprLike, x: ExprLike) -> Expr:
    """The angle between -pi and pi of the point (x, y)."""
    return elementary("atan2", y, x)


def sinh(x: ExprLike) -> Expr:
    """Hyperbolic sine."""
    return elementary("sinh", x)


def cosh(x: ExprLike) -> Expr:
    """Hyperbolic cosine."""
    return elementary("cosh", x)


def tanh(x: ExprLike) -> Expr:
    """Hyperbolic tangent."""
    return elementary("tanh", x)


def asinh(x: ExprLike) -> Expr:
    """Inverse of the hyperbolic sine."""
    return elementary("asinh", x)


def acosh(x: ExprLike) -> Expr:
    """Inverse of the hyperbolic cosine, for ``x`` from 1 on."""
    return elementary("acosh", x)


def atanh(x: ExprLike) -> Expr:
    """Inverse of the hyperbolic tangent."""
    return elementary("atanh", x)


def exp(x: ExprLike) -> Expr:
    """E raised to ``x``."""
    return elementary("exp", x)


def log(x: ExprLike) -> Expr:
    """Natural logarithm."""
    return elementary("log", x)


def hypot(x: ExprLike, y: ExprLike) -> Expr:
    """``sqrt(x * x + y * y)``; the squares may overflow, as in Halide."""
    a, b = match(x, y)
    return sqrt(a * a + b * b)


def pow(x: ExprLike, y: ExprLike) -> Expr:
    """``x ** y``: ``x`` raised to ``y``. A signed integer constant ``y`` becomes a product in the
    type of ``x``, as in Halide.
    """
    return power(x, y)


def floor(x: ExprLike) -> Expr:
    """The largest whole number not above ``x``, still a float."""
    return elementary("floor", x)


def ceil(x: ExprLike) -> Expr:
    """The smallest whole number not below ``x``, still a float."""
    return elementary("ceil", x)


def round(x: ExprLike) -> Expr:
    """The nearest whole number, still a float; of two equally near ones, the even one."""
    return elementary("round", x)


def trunc(x: ExprLike) -> Expr:
    """``x`` without its fraction, still a float."""
    return elementary("trunc", x)


def fract(x: ExprLike) -> Expr:
    """The fraction of ``x``, with the sign of ``x``."""
    return as_expr(x) - trunc(x)


def abs(x: ExprLike) -> Expr:
    """Magnitude; a signed integer gives an unsigned one of the same width, as in Halide."""
    value = as_expr(x)
    if value.type.is_uint:
        return value
    result = Type("uint", value.type.bits) if value.type.is_int else value.type
    return Op(result, "abs", (value,))
