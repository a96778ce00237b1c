"""Exponential, logarithm and power of float32 in single precision, for code that may be fast.

Twice as many lanes fit into a vector as in ``elementary``, which rounds only once. Here the
exponential and the logarithm are within 1 unit in the last place, the power of ``x`` to ``y``
within 2 + 2 * abs(y * log2(x)). Arguments and results are finite, and what is too small for a
normal float32 counts as 0; the logarithm of 0 is minus infinity nevertheless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from llvmlite import ir
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from backend.llvm.blocks import I32, IRType, Value

APPROXIMATE = ("exp", "log", "pow")
"""The functions there are."""

Doubles: TypeAlias = NDArray[np.float64]

_FLOAT = ir.FloatType()

_LARGEST, _SMALLEST = 88.72283, -87.33654
"""Logarithms of the largest and of the smallest normal number."""

_LOG_2 = (0.693359375, -2.12194440e-4)
"""The logarithm of 2 as the sum of a number of few digits, whose small multiples are exact, and the
rest.
"""

_SQRT_HALF_BITS = 0x3F3504F3
_ONE_BITS = 0x3F800000
_FRACTION = (1 << 23) - 1
_SIGN = -(1 << 31)


@cache
def _exp_terms() -> tuple[float, ...]:
    """Of (exp(r) - 1 - r) / r**2 for what is left of a number less multiples of log(2)."""

    def function(r: Doubles) -> Doubles:
        far = np.where(np.abs(r) < 1e-3, 1.0, r)
        near = 1 / 2 + r / 6 + r * r / 24
        return np.asarray(np.where(np.abs(r) < 1e-3, near, (np.expm1(far) - far) / far**2))

    return _fitted(function, 4, -math.log(2) / 2, math.log(2) / 2)


@cache
def _log_terms() -> tuple[float, ...]:
    """Of (log(1 + t) - t + t**2 / 2) / t**3 for 1 + t between the square roots of 1/2 and 2."""

    def function(t: Doubles) -> Doubles:
        far = np.where(np.abs(t) < 1e-2, 1.0, t)
        near = Polynomial([(-1) ** k / (k + 3) for k in range(8)])(t)
        whole = (np.log1p(far) - far + far**2 / 2) / far**3
        return np.asarray(np.where(np.abs(t) < 1e-2, near, whole))

    return _fitted(function, 8, math.sqrt(0.5) - 1, math.sqrt(2) - 1)


def _fitted(
    function: Callable[[Doubles], Doubles], degree: int, low: float, high: float
) -> tuple[float, ...]:
    """The coefficients, lowest powers first, of a polynomial close to a function everywhere between
    two limits: the one that meets it in the Chebyshev points.
    """
    fitted = Chebyshev.interpolate(function, degree, domain=[low, high])
    return tuple(float(c) for c in fitted.convert(kind=Polynomial, domain=[-1, 1]).coef)


def approximate(module: Any, name: str, type: IRType, operands: int) -> Value:
    """The function of that name on ``type`` (float or a vector of it), made at first use."""
    lanes = type.count if isinstance(type, ir.VectorType) else 1
    full = f"spaces.{name}.approximate.{lanes}"
    known = module.globals.get(full)
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(type, [type] * operands), full)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(getattr(_Kernel(module, builder, lanes), f"_{name}")(*function.args))
    return function


@frozen
class _Kernel:
    """Emits the body of one function over ``lanes`` floats."""

    module: Any
    builder: Any
    lanes: int

    def _exp(self, x: Value) -> Value:
        """2**n * exp(r), with n the whole number nearest to x / log(2)."""
        build = self.builder
        limited = self._limited(x)
        scaled = build.fmul(limited, self._constant(1 / math.log(2)))
        n = self._call(f"llvm.rint.{self._suffix}", scaled)
        r = limited
        for part in _LOG_2:
            r = self._fma(n, self._constant(-part), r)
        series = self._polynomial(_exp_terms(), r)
        value = self._fma(self._fma(series, r, self._constant(1.0)), r, self._constant(1.0))
        whole = build.fptosi(n, self._type(I32))
        power = build.shl(whole, self._constant(23, I32))
        value = self._float(build.add(self._bits(value), power))
        is_small = build.fcmp_ordered("<", x, self._constant(_SMALLEST))
        return build.select(is_small, self._constant(0.0), value)

    def _limited(self, x: Value) -> Value:
        build = self.builder
        least, most = self._constant(_SMALLEST), self._constant(_LARGEST)
        x = build.select(build.fcmp_ordered("<", x, least), least, x)
        return build.select(build.fcmp_ordered(">", x, most), most, x)

    def _log(self, x: Value) -> Value:
        """K * log(2) + log(m), with m between the square roots of 1/2 and 2."""
        build, zero = self.builder, self._constant(0.0)
        shifted = build.add(self._bits(x), self._constant(_ONE_BITS - _SQRT_HALF_BITS, I32))
        exponent = build.sub(build.ashr(shifted, self._constant(23, I32)), self._constant(127, I32))
        k = build.sitofp(exponent, self._type(_FLOAT))
        fraction = build.and_(shifted, self._constant(_FRACTION, I32))
        m = self._float(build.add(fraction, self._constant(_SQRT_HALF_BITS, I32)))
        t = build.fsub(m, self._constant(1.0))
        square = build.fmul(t, t)
        high, low = _LOG_2
        series = self._polynomial(_log_terms(), t)
        value = self._fma(k, self._constant(low), build.fmul(build.fmul(series, t), square))
        value = self._fma(square, self._constant(-0.5), value)
        value = self._fma(k, self._constant(high), build.fadd(t, value))
        value = build.select(build.fcmp_ordered("==", x, zero), self._constant(-math.inf), value)
        return build.select(build.fcmp_ordered("<", x, zero), self._constant(math.nan), value)

    def _pow(self, x: Value, y: Value) -> Value:
        """exp(y * log(abs(x))), negative for an odd power of a negative number."""
        build, zero = self.builder, self._constant(0.0)
        size = self._call(f"llvm.fabs.{self._suffix}", x)
        value = self._exp(build.fmul(y, self._log(size)))
        whole = self._call(f"llvm.fptosi.sat.{self._whole}.{self._suffix}", y, of=I32)
        odd = build.shl(whole, self._constant(31, I32))
        sign = build.and_(odd, build.and_(self._bits(x), self._constant(_SIGN, I32)))
        value = self._float(build.or_(self._bits(value), sign))
        is_zero = build.fcmp_ordered("==", x, zero)
        is_positive = build.fcmp_ordered(">", y, zero)
        value = build.select(build.and_(is_zero, is_positive), zero, value)
        is_whole = build.fcmp_ordered("==", build.sitofp(whole, y.type), y)
        serves = build.or_(is_whole, build.fcmp_ordered(">=", x, zero))
        value = build.select(serves, value, self._constant(math.nan))
        is_none = build.fcmp_ordered("==", y, zero)
        return build.select(is_none, self._constant(1.0), value)

    # Values

    @property
    def _suffix(self) -> str:
        return f"v{self.lanes}f32" if self.lanes > 1 else "f32"

    @property
    def _whole(self) -> str:
        return f"v{self.lanes}i32" if self.lanes > 1 else "i32"

    def _type(self, element: IRType) -> IRType:
        return ir.VectorType(element, self.lanes) if self.lanes > 1 else element

    def _constant(self, value: float | int, element: IRType = _FLOAT) -> Value:
        if element is _FLOAT:
            value = float(np.float32(value))
        kind = self._type(element)
        return ir.Constant(kind, [value] * self.lanes if self.lanes > 1 else value)

    def _call(self, name: str, *args: Value, of: IRType = _FLOAT) -> Value:
        kind = ir.FunctionType(self._type(of), [a.type for a in args])
        function = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        return self.builder.call(function, args)

    def _fma(self, a: Value, b: Value, c: Value) -> Value:
        return self._call(f"llvm.fma.{self._suffix}", a, b, c)

    def _polynomial(self, coefficients: Sequence[float], x: Value) -> Value:
        """The sum of ``coefficients[k] * x**k``."""
        result = self._constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self._fma(result, x, self._constant(coefficient))
        return result

    def _bits(self, value: Value) -> Value:
        return self.builder.bitcast(value, self._type(I32))

    def _float(self, bits: Value) -> Value:
        return self.builder.bitcast(bits, self._type(_FLOAT))
