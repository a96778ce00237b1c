"""Fast elementary functions of float32, made of sums, products and conversions.

The reference and compiled code give the same bits, since each operation has one defined result.
Tests measure the errors over these ranges: ``fast_exp`` 3e-7 relative for arguments from -87 to 88
(below, it gives 0; above, infinity); ``fast_log`` 4e-7, relative or absolute, for positive normal
numbers. ``fast_pow`` has the errors of both together. ``fast_sin`` and ``fast_cos`` have 3e-7
absolute for magnitudes up to 1000.
"""

from __future__ import annotations

import math

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, cast, compare, constant
from spaces.model.expressions.types import Float32, Int32, Type

_LOG2_HIGH, _LOG2_LOW = 0.693359375, -2.12194440e-4
"""The natural logarithm of 2 as a sum. The first part has few bits, so that products with it are
exact.
"""

_QUARTER = (1.5703125, 4.837512969970703e-4, 7.549789948768648e-8)
"""A quarter turn as a sum of three parts; products with the first two are exact."""


def _polynomial(x: Expr, *coefficients: float) -> Expr:
    """The sum of ``coefficients[k] * x**k``."""
    result: Expr = constant(coefficients[-1], Float32)
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + constant(coefficient, Float32)
    return result


def exponential(type: Type, x: Expr) -> Expr:
    """E to the power of ``x``: ``2**n * exp(r)``, with ``n`` the whole number nearest to
    ``x / log(2)`` and ``r`` the rest.
    """
    limited = fn.clamp(x, -104.0, 104.0)
    n = _nearest(limited * constant(1 / math.log(2), type))
    r = limited - n * constant(_LOG2_HIGH, type) - n * constant(_LOG2_LOW, type)
    series = _polynomial(r, *(1 / math.factorial(k) for k in range(8)))
    exponent = fn.clamp(cast(Int32, n) + 127, 0, 255)
    return series * Op(type, "reinterpret", (exponent << 23,))


def logarithm(type: Type, x: Expr) -> Expr:
    """``k * log(2) + log(m)`` with ``m`` between the square roots of 1/2 and 2."""
    root = 0x3F3504F3  # the bits of the square root of 1/2
    shifted = Op(Int32, "reinterpret", (x,)) - root
    k = cast(type, shifted >> 23)
    m = Op(type, "reinterpret", ((shifted & 0x7FFFFF) + root,))
    s = (m - 1.0) / (m + 1.0)
    series = s * _polynomial(s * s, *(2 / (2 * k + 1) for k in range(5)))
    return k * constant(_LOG2_HIGH, type) + (series + k * constant(_LOG2_LOW, type))


def power(type: Type, x: Expr, y: Expr) -> Expr:
    """``x`` to the power of ``y``, for ``x`` from 0 on; 0 where ``x`` is 0."""
    return fn.select(
        compare("eq", x, constant(0.0, type)),
        constant(0.0, type),
        exponential(type, logarithm(type, x) * y),
    )


def sine(type: Type, x: Expr) -> Expr:
    """The sine of an angle in radians."""
    return _turned(type, x, 0)


def cosine(type: Type, x: Expr) -> Expr:
    """The cosine of an angle in radians: the sine of the angle plus a quarter turn."""
    return _turned(type, x, 1)


def _turned(type: Type, x: Expr, ahead: int) -> Expr:
    n = _nearest(x * constant(2 / math.pi, type))
    r = x
    for part in _QUARTER:
        r = r - n * constant(part, type)
    turns = (cast(Int32, n) + ahead) & 3
    square = r * r
    sines = ((-1.0) ** k / math.factorial(2 * k + 1) for k in range(5))
    cosines = ((-1.0) ** k / math.factorial(2 * k) for k in range(6))
    value = fn.select(
        (turns & 1) > 0, _polynomial(square, *cosines), r * _polynomial(square, *sines)
    )
    return fn.select(turns > 1, constant(0.0, type) - value, value)


def _nearest(x: Expr) -> Expr:
    return Op(x.type, "round", (x,))
