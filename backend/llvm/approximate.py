"""Exponential, logarithm and power of float32 in single precision, for fast float mode.

A vector has twice as many lanes as in ``elementary``, which computes in float64 and rounds once.
Here the exponential and the logarithm are within 1 unit in the last place, the power of ``x`` to
``y`` within 2 + 2 * abs(y * log2(x)). Arguments and results must be finite. Values too small for a
normal float32 count as 0; the logarithm of 0 is still minus infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from spaces.backend.llvm.float_lanes import SINGLE, FloatLanes, function_once, lanes_of
from spaces.backend.llvm.runtime.blocks import IRType, Value

APPROXIMATE = ("exp", "log", "pow")
"""The names of the functions in this file."""

Doubles: TypeAlias = NDArray[np.float64]

_LARGEST, _SMALLEST = 88.72283, -87.33654
"""The logarithms of the largest and of the smallest normal number."""

_LOG_2 = (0.693359375, -2.12194440e-4)
"""The logarithm of 2 as a sum of two numbers. The first has so few digits that its small multiples
are exact.
"""

_SQRT_HALF_BITS = 0x3F3504F3
_ONE_BITS = 0x3F800000
_FRACTION = (1 << 23) - 1
_SIGN = -(1 << 31)


@cache
def _exp_terms() -> tuple[float, ...]:
    """Coefficients of (exp(r) - 1 - r) / r**2, where r is a number minus the nearest multiple of
    log(2).
    """

    def function(r: Doubles) -> Doubles:
        far = np.where(np.abs(r) < 1e-3, 1.0, r)
        near = 1 / 2 + r / 6 + r * r / 24
        return np.asarray(np.where(np.abs(r) < 1e-3, near, (np.expm1(far) - far) / far**2))

    return _fitted(function, 4, -math.log(2) / 2, math.log(2) / 2)


@cache
def _log_terms() -> tuple[float, ...]:
    """Coefficients of (log(1 + t) - t + t**2 / 2) / t**3 for 1 + t between the square roots of 1/2
    and 2.
    """

    def function(t: Doubles) -> Doubles:
        far = np.where(np.abs(t) < 1e-2, 1.0, t)
        near = Polynomial([(-1) ** k / (k + 3) for k in range(8)])(t)
        whole = (np.log1p(far) - far + far**2 / 2) / far**3
        return np.asarray(np.where(np.abs(t) < 1e-2, near, whole))

    return _fitted(function, 8, math.sqrt(0.5) - 1, math.sqrt(2) - 1)


def _fitted(
    function: Callable[[Doubles], Doubles], degree: int, low: float, high: float
) -> tuple[float, ...]:
    """The coefficients, lowest power first, of a polynomial close to a function between two limits:
    it equals the function at the Chebyshev points.
    """
    fitted = Chebyshev.interpolate(function, degree, domain=[low, high])
    return tuple(float(c) for c in fitted.convert(kind=Polynomial, domain=[-1, 1]).coef)


def approximate(module: Any, name: str, type: IRType, operands: int) -> Value:
    """The function of that name on ``type`` (float or a vector of floats). The first use defines
    it.
    """
    lanes = lanes_of(type)

    def emit(function: Value, builder: Any) -> None:
        approximation = _Approximation(module, builder, lanes)
        builder.ret(getattr(approximation, f"_{name}")(*function.args))

    return function_once(module, f"spaces.{name}.approximate.{lanes}", type, operands, emit)


@frozen
class _Approximation(FloatLanes):
    """Emits the body of one function over ``lanes`` floats."""

    real = SINGLE

    def _exp(self, x: Value) -> Value:
        """2**n * exp(r), with n the whole number nearest to x / log(2)."""
        build = self.builder
        limited = self.limited(x, _SMALLEST, _LARGEST)
        scaled = build.fmul(limited, self.number(1 / math.log(2)))
        n = self.call(f"llvm.rint.{self.suffix}", x.type, scaled)
        r = limited
        for part in _LOG_2:
            r = self.fma(n, self.number(-part), r)
        series = self.polynomial(_exp_terms(), r)
        value = self.fma(self.fma(series, r, self.number(1.0)), r, self.number(1.0))
        whole = build.fptosi(n, self.wide(self.integer))
        power = build.shl(whole, self.whole(23))
        value = self.from_bits(build.add(self.bits(value), power))
        is_small = build.fcmp_ordered("<", x, self.number(_SMALLEST))
        return build.select(is_small, self.number(0.0), value)

    def _log(self, x: Value) -> Value:
        """K * log(2) + log(m), with m between the square roots of 1/2 and 2."""
        build, zero = self.builder, self.number(0.0)
        shifted = build.add(self.bits(x), self.whole(_ONE_BITS - _SQRT_HALF_BITS))
        exponent = build.sub(build.ashr(shifted, self.whole(23)), self.whole(127))
        k = build.sitofp(exponent, self.wide(self.real))
        fraction = build.and_(shifted, self.whole(_FRACTION))
        m = self.from_bits(build.add(fraction, self.whole(_SQRT_HALF_BITS)))
        t = build.fsub(m, self.number(1.0))
        square = build.fmul(t, t)
        high, low = _LOG_2
        series = self.polynomial(_log_terms(), t)
        value = self.fma(k, self.number(low), build.fmul(build.fmul(series, t), square))
        value = self.fma(square, self.number(-0.5), value)
        value = self.fma(k, self.number(high), build.fadd(t, value))
        value = build.select(build.fcmp_ordered("==", x, zero), self.number(-math.inf), value)
        return build.select(build.fcmp_ordered("<", x, zero), self.number(math.nan), value)

    def _pow(self, x: Value, y: Value) -> Value:
        """exp(y * log(abs(x))), negative for an odd power of a negative number."""
        build, zero = self.builder, self.number(0.0)
        size = self.call(f"llvm.fabs.{self.suffix}", x.type, x)
        value = self._exp(build.fmul(y, self._log(size)))
        to = self.suffix.replace("f", "i")
        whole = self.call(f"llvm.fptosi.sat.{to}.{self.suffix}", self.wide(self.integer), y)
        odd = build.shl(whole, self.whole(31))
        sign = build.and_(odd, build.and_(self.bits(x), self.whole(_SIGN)))
        value = self.from_bits(build.or_(self.bits(value), sign))
        is_zero = build.fcmp_ordered("==", x, zero)
        is_positive = build.fcmp_ordered(">", y, zero)
        value = build.select(build.and_(is_zero, is_positive), zero, value)
        is_whole = build.fcmp_ordered("==", build.sitofp(whole, y.type), y)
        serves = build.or_(is_whole, build.fcmp_ordered(">=", x, zero))
        value = build.select(serves, value, self.number(math.nan))
        is_none = build.fcmp_ordered("==", y, zero)
        return build.select(is_none, self.number(1.0), value)
