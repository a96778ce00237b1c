"""Sine, cosine, tangent, exponential, logarithm and power of float32, as functions of a module;
and the functions that only the C library has.

They work in float64 on as many lanes as are asked for, by polynomials, and round once at the end:
results are within 0.51 units in the last place, and a value does not depend on whether it is
computed in a vector or alone. Arguments for which no polynomial serves (angles beyond 2**28,
powers of negative numbers) go to the C library lane by lane.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from attrs import frozen
from llvmlite import ir

from backend.llvm.blocks import I64, IRType, Value, i32

_DOUBLE = ir.DoubleType()

BY_LIBRARY = (
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip
"""Functions that are the C library's, in float64, also of float32 values."""

_ROUND = 1.5 * 2.0**52
"""Added to a double of moderate size, it leaves the nearest whole number in the low bits."""

_SIN = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 8)]
_COS = [(-1.0) ** k / math.factorial(2 * k) for k in range(1, 8)]
_EXP = [1 / math.factorial(k) for k in range(11)]
_LOG = [2 / (2 * k + 1) for k in range(8)]
"""Coefficients of the series, lowest powers first: of r**2 for sine and cosine, of r, and of the
square of (m - 1) / (m + 1)."""

_HALF_PI = (math.pi / 2, 6.123233995736766e-17)
"""Half of pi as the sum of two doubles."""

_LARGEST_ANGLE = 2.0**28

_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_MANTISSA = (1 << 52) - 1


def elementary(module: Any, name: str, type: IRType, operands: int) -> Value:
    """The function of that name on ``type`` (float or a vector of it), made at first use."""
    lanes = type.count if isinstance(type, ir.VectorType) else 1
    element = type.element if isinstance(type, ir.VectorType) else type
    full = f"spaces.{name}.{lanes}{'' if isinstance(element, ir.FloatType) else '.double'}"
    known = module.globals.get(full)
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(type, [type] * operands), full)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    kernel = _Kernel(module, builder, lanes)
    if name in BY_LIBRARY:
        builder.ret(kernel.in_double(name, function.args))
    else:
        kernel.define(name, function)
    return function


@frozen
class _Kernel:
    """Emits the body of one function over ``lanes`` doubles."""

    module: Any
    builder: Any
    lanes: int

    def define(self, name: str, function: Value) -> None:
        """Emit the whole function."""
        build, args = self.builder, function.args
        wide = [build.fpext(a, self._type(_DOUBLE)) for a in args]
        body, serves = getattr(self, f"_{name}")(*wide)
        result = build.fptrunc(body, args[0].type)
        if serves is None:
            build.ret(result)
            return
        every = serves
        if self.lanes > 1:
            kind = ir.FunctionType(ir.IntType(1), [serves.type])
            every = self._call(f"llvm.vector.reduce.and.v{self.lanes}i1", kind, serves)
        fast, slow = function.append_basic_block("fast"), function.append_basic_block("slow")
        build.cbranch(every, fast, slow)
        build.position_at_end(fast)
        build.ret(result)
        build.position_at_end(slow)
        build.ret(build.select(serves, result, self._by_library(name, args)))

    def _by_library(self, name: str, args: Sequence[Value]) -> Value:
        """The C library's function, lane by lane."""
        single = ir.FloatType()
        kind = ir.FunctionType(single, [single] * len(args))
        if self.lanes == 1:
            return self._call(f"{name}f", kind, *args)
        result = ir.Constant(args[0].type, ir.Undefined)
        for lane in range(self.lanes):
            parts = [self.builder.extract_element(a, i32(lane)) for a in args]
            value = self._call(f"{name}f", kind, *parts)
            result = self.builder.insert_element(result, value, i32(lane))
        return result

    def in_double(self, name: str, args: Sequence[Value]) -> Value:
        """The C library's function of doubles, lane by lane, rounded once to the type given."""
        build, kind = self.builder, ir.FunctionType(_DOUBLE, [_DOUBLE] * len(args))
        given = args[0].type
        wide = self._type(_DOUBLE)
        doubles = [a if a.type == wide else build.fpext(a, wide) for a in args]
        if self.lanes == 1:
            result = self._call(name, kind, *doubles)
        else:
            result = ir.Constant(wide, ir.Undefined)
            for lane in range(self.lanes):
                parts = [build.extract_element(a, i32(lane)) for a in doubles]
                result = build.insert_element(result, self._call(name, kind, *parts), i32(lane))
        return result if given == wide else build.fptrunc(result, given)

    def _type(self, element: IRType) -> IRType:
        return ir.VectorType(element, self.lanes) if self.lanes > 1 else element

    def _constant(self, value: float | int, element: IRType = _DOUBLE) -> Value:
        kind = self._type(element)
        return ir.Constant(kind, [value] * self.lanes if self.lanes > 1 else value)

    def _call(self, name: str, kind: Any, *args: Value) -> Value:
        function = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        return self.builder.call(function, args)

    def _fma(self, a: Value, b: Value, c: Value) -> Value:
        suffix = f"v{self.lanes}f64" if self.lanes > 1 else "f64"
        kind = ir.FunctionType(a.type, [a.type] * 3)
        return self._call(f"llvm.fma.{suffix}", kind, a, b, c)

    def _polynomial(self, coefficients: Sequence[float], x: Value) -> Value:
        """The sum of ``coefficients[k] * x**k``."""
        result = self._constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self._fma(result, x, self._constant(coefficient))
        return result

    def _bits(self, value: Value) -> Value:
        return self.builder.bitcast(value, self._type(I64))

    def _float(self, bits: Value) -> Value:
        return self.builder.bitcast(bits, self._type(_DOUBLE))

    def _limited(self, x: Value, low: float, high: float) -> Value:
        build = self.builder
        least, most = self._constant(low), self._constant(high)
        x = build.select(build.fcmp_ordered("<", x, least), least, x)
        return build.select(build.fcmp_ordered(">", x, most), most, x)

    def _exp(self, x: Value) -> tuple[Value, None]:
        """2**n * exp(r), with n the whole number nearest to x / log(2)."""
        build = self.builder
        limited = self._limited(x, -150.0, 130.0)  # beyond, the result is 0 or infinite anyway
        rounded = self._fma(limited, self._constant(1 / math.log(2)), self._constant(_ROUND))
        n = build.fsub(rounded, self._constant(_ROUND))
        r = self._fma(n, self._constant(-math.log(2)), limited)
        power = build.shl(self._bits(rounded), self._constant(52, I64))
        value = self._float(build.add(self._bits(self._polynomial(_EXP, r)), power))
        is_number = build.fcmp_ordered("ord", x, x)
        return build.select(is_number, value, x), None

    def _log(self, x: Value) -> tuple[Value, None]:
        """K * log(2) + log(m), with m between the square roots of 1/2 and 2."""
        build = self.builder
        value = self._finite_log(x)
        zero, infinity = self._constant(0.0), self._constant(math.inf)
        value = build.select(build.fcmp_ordered("==", x, zero), self._constant(-math.inf), value)
        value = build.select(build.fcmp_unordered("<", x, zero), self._constant(math.nan), value)
        return build.select(build.fcmp_ordered("==", x, infinity), infinity, value), None

    def _finite_log(self, x: Value) -> Value:
        """The logarithm of a positive number; a float32, denormal or not, is a normal double."""
        build = self.builder
        offset = self._constant((1023 << 52) - _SQRT_HALF_BITS, I64)
        shifted = build.add(self._bits(x), offset)
        exponent = build.lshr(shifted, self._constant(52, I64))
        # The bits of 2**52 + exponent, less 2**52 + 1023.
        whole = self._float(build.or_(exponent, self._constant(_double_bits(2.0**52), I64)))
        k = build.fsub(whole, self._constant(2.0**52 + 1023))
        mantissa = build.and_(shifted, self._constant(_MANTISSA, I64))
        m = self._float(build.add(mantissa, self._constant(_SQRT_HALF_BITS, I64)))
        one = self._constant(1.0)
        s = build.fdiv(build.fsub(m, one), build.fadd(m, one))
        series = self._polynomial(_LOG, build.fmul(s, s))
        return self._fma(k, self._constant(math.log(2)), build.fmul(s, series))

    def _pow(self, x: Value, y: Value) -> tuple[Value, Value]:
        """exp(y * log(x)) for positive x, and 0 for 0 to a positive power."""
        build, zero = self.builder, self._constant(0.0)
        value, _ = self._exp(build.fmul(y, self._finite_log(x)))
        is_zero = build.fcmp_ordered("==", x, zero)
        value = build.select(is_zero, zero, value)
        is_finite = build.fcmp_ordered("<", x, self._constant(math.inf))
        is_positive = build.and_(build.fcmp_ordered(">", x, zero), is_finite)
        # 0 and -0 differ in odd powers; only the bits tell them apart.
        is_plain_zero = build.icmp_signed("==", self._bits(x), self._constant(0, I64))
        serves_zero = build.and_(is_plain_zero, build.fcmp_ordered(">", y, zero))
        limit = self._constant(2.0**100)
        small = build.and_(
            build.fcmp_ordered("<", y, limit),
            build.fcmp_ordered(">", y, self._constant(-(2.0**100))),
        )
        return value, build.and_(build.or_(is_positive, serves_zero), small)

    def _angle(self, x: Value) -> tuple[Value, Value, Value]:
        """Sine and cosine of what remains of x less quarter turns, and the number of these."""
        build = self.builder
        rounded = self._fma(x, self._constant(2 / math.pi), self._constant(_ROUND))
        n = build.fsub(rounded, self._constant(_ROUND))
        r = x
        for part in _HALF_PI:
            r = self._fma(n, self._constant(-part), r)
        square = build.fmul(r, r)
        sine = self._fma(build.fmul(self._polynomial(_SIN, square), square), r, r)
        cosine = self._fma(self._polynomial(_COS, square), square, self._constant(1.0))
        return sine, cosine, self._bits(rounded)

    def _turned(self, sine: Value, cosine: Value, turns: Value) -> Value:
        """The sine after so many quarter turns more."""
        build, zero = self.builder, self._constant(0, I64)
        odd = build.icmp_signed("!=", build.and_(turns, self._constant(1, I64)), zero)
        half = build.and_(build.lshr(turns, self._constant(1, I64)), self._constant(1, I64))
        sign = build.shl(half, self._constant(63, I64))
        return self._float(build.xor(self._bits(build.select(odd, cosine, sine)), sign))

    def _serves_angle(self, x: Value) -> Value:
        limit = self._constant(_LARGEST_ANGLE)
        build = self.builder
        is_low = build.fcmp_ordered("<=", x, limit)
        return build.and_(is_low, build.fcmp_ordered(">=", x, self._constant(-_LARGEST_ANGLE)))

    def _sin(self, x: Value) -> tuple[Value, Value]:
        return self._turned(*self._angle(x)), self._serves_angle(x)

    def _cos(self, x: Value) -> tuple[Value, Value]:
        sine, cosine, turns = self._angle(x)
        ahead = self.builder.add(turns, self._constant(1, I64))
        return self._turned(sine, cosine, ahead), self._serves_angle(x)

    def _tan(self, x: Value) -> tuple[Value, Value]:
        sine, cosine, turns = self._angle(x)
        ahead = self.builder.add(turns, self._constant(1, I64))
        above, below = self._turned(sine, cosine, turns), self._turned(sine, cosine, ahead)
        return self.builder.fdiv(above, below), self._serves_angle(x)


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")
