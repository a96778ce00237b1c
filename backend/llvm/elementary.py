"""Sine, cosine, tangent, exponential, logarithm and power of float32 as functions of a module, and
calls of functions that only the C library has.

They compute polynomials in float64, on any number of lanes, and round once at the end. Results are
within 0.51 units in the last place; a scalar and a lane of a vector give the same value. For
arguments without a polynomial (angles beyond 2**28, powers of negative numbers) they call the C
library lane by lane.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from attrs import frozen
from llvmlite import ir

from spaces.backend.llvm.float_lanes import DOUBLE, SINGLE, FloatLanes, function_once, lanes_of
from spaces.backend.llvm.runtime.blocks import IRType, Value, i32
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS

BY_LIBRARY = tuple(
    name for name, one in FLOAT_FUNCTIONS.items() if one.llvm is None and not one.has_series
)
"""Functions of the C library, called in float64 also for float32 values."""

_ROUND = 1.5 * 2.0**52
"""A double that, added to a double of moderate size, leaves the nearest whole number in the low
bits.
"""

_SIN = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 8)]
_COS = [(-1.0) ** k / math.factorial(2 * k) for k in range(1, 8)]
_EXP = [1 / math.factorial(k) for k in range(11)]
_LOG = [2 / (2 * k + 1) for k in range(8)]
"""Coefficients of series, lowest power first: in r**2 for sine and cosine, in r for the
exponential, and in the square of (m - 1) / (m + 1) for the logarithm.
"""

_HALF_PI = (math.pi / 2, 6.123233995736766e-17)
"""Half of pi as the sum of two doubles."""

_LARGEST_ANGLE = 2.0**28

_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_MANTISSA = (1 << 52) - 1


def elementary(module: Any, name: str, type: IRType, operands: int) -> Value:
    """The function of that name on ``type`` (float or a vector of floats). The first use defines
    it.
    """
    lanes = lanes_of(type)
    element = type.element if isinstance(type, ir.VectorType) else type
    full = f"spaces.{name}.{lanes}{'' if element == SINGLE else '.double'}"

    def emit(function: Value, builder: Any) -> None:
        emitter = _ElementaryFunction(module, builder, lanes)
        if name in BY_LIBRARY:
            builder.ret(emitter.in_double(name, function.args))
        else:
            emitter.define(name, function)

    return function_once(module, full, type, operands, emit)


@frozen
class _ElementaryFunction(FloatLanes):
    """Emits the body of one function over ``lanes`` doubles."""

    real = DOUBLE

    def define(self, name: str, function: Value) -> None:
        """Emit the whole function."""
        build, args = self.builder, function.args
        wide = [build.fpext(a, self.wide(self.real)) for a in args]
        body, serves = getattr(self, f"_{name}")(*wide)
        result = build.fptrunc(body, args[0].type)
        if serves is None:
            build.ret(result)
            return
        every = serves
        if self.lanes > 1:
            every = self.call(f"llvm.vector.reduce.and.v{self.lanes}i1", ir.IntType(1), serves)
        fast, slow = function.append_basic_block("fast"), function.append_basic_block("slow")
        build.cbranch(every, fast, slow)
        build.position_at_end(fast)
        build.ret(result)
        build.position_at_end(slow)
        build.ret(build.select(serves, result, self._lane_by_lane(f"{name}f", args)))

    def in_double(self, name: str, args: Sequence[Value]) -> Value:
        """The C library's function of doubles, lane by lane, rounded once to the element type."""
        build, given, wide = self.builder, args[0].type, self.wide(DOUBLE)
        doubles = [a if a.type == wide else build.fpext(a, wide) for a in args]
        result = self._lane_by_lane(name, doubles)
        return result if given == wide else build.fptrunc(result, given)

    def _lane_by_lane(self, name: str, args: Sequence[Value]) -> Value:
        """Calls a function of the C library, which takes one number, for each lane."""
        if self.lanes == 1:
            return self.call(name, args[0].type, *args)
        result = ir.Constant(args[0].type, ir.Undefined)
        for lane in range(self.lanes):
            parts = [self.builder.extract_element(a, i32(lane)) for a in args]
            value = self.call(name, parts[0].type, *parts)
            result = self.builder.insert_element(result, value, i32(lane))
        return result

    def _exp(self, x: Value) -> tuple[Value, None]:
        """2**n * exp(r), with n the whole number nearest to x / log(2)."""
        build = self.builder
        limited = self.limited(x, -150.0, 130.0)  # beyond, the result is 0 or infinite anyway
        rounded = self.fma(limited, self.number(1 / math.log(2)), self.number(_ROUND))
        n = build.fsub(rounded, self.number(_ROUND))
        r = self.fma(n, self.number(-math.log(2)), limited)
        power = build.shl(self.bits(rounded), self.whole(52))
        value = self.from_bits(build.add(self.bits(self.polynomial(_EXP, r)), power))
        is_number = build.fcmp_ordered("ord", x, x)
        return build.select(is_number, value, x), None

    def _log(self, x: Value) -> tuple[Value, None]:
        """K * log(2) + log(m), with m between the square roots of 1/2 and 2."""
        build = self.builder
        value = self._finite_log(x)
        zero, infinity = self.number(0.0), self.number(math.inf)
        value = build.select(build.fcmp_ordered("==", x, zero), self.number(-math.inf), value)
        value = build.select(build.fcmp_unordered("<", x, zero), self.number(math.nan), value)
        return build.select(build.fcmp_ordered("==", x, infinity), infinity, value), None

    def _finite_log(self, x: Value) -> Value:
        """The logarithm of a positive number; a float32, denormal or not, is a normal double."""
        build = self.builder
        offset = self.whole((1023 << 52) - _SQRT_HALF_BITS)
        shifted = build.add(self.bits(x), offset)
        exponent = build.lshr(shifted, self.whole(52))
        # The bits of 2**52 + exponent, less 2**52 + 1023.
        whole = self.from_bits(build.or_(exponent, self.whole(_double_bits(2.0**52))))
        k = build.fsub(whole, self.number(2.0**52 + 1023))
        mantissa = build.and_(shifted, self.whole(_MANTISSA))
        m = self.from_bits(build.add(mantissa, self.whole(_SQRT_HALF_BITS)))
        one = self.number(1.0)
        s = build.fdiv(build.fsub(m, one), build.fadd(m, one))
        series = self.polynomial(_LOG, build.fmul(s, s))
        return self.fma(k, self.number(math.log(2)), build.fmul(s, series))

    def _pow(self, x: Value, y: Value) -> tuple[Value, Value]:
        """exp(y * log(x)) for positive x, and 0 for 0 to a positive power."""
        build, zero = self.builder, self.number(0.0)
        value, _ = self._exp(build.fmul(y, self._finite_log(x)))
        is_zero = build.fcmp_ordered("==", x, zero)
        value = build.select(is_zero, zero, value)
        is_finite = build.fcmp_ordered("<", x, self.number(math.inf))
        is_positive = build.and_(build.fcmp_ordered(">", x, zero), is_finite)
        # 0 and -0 differ in odd powers; only the bits tell them apart.
        is_plain_zero = build.icmp_signed("==", self.bits(x), self.whole(0))
        serves_zero = build.and_(is_plain_zero, build.fcmp_ordered(">", y, zero))
        limit = self.number(2.0**100)
        small = build.and_(
            build.fcmp_ordered("<", y, limit), build.fcmp_ordered(">", y, self.number(-(2.0**100)))
        )
        return value, build.and_(build.or_(is_positive, serves_zero), small)

    def _angle(self, x: Value) -> tuple[Value, Value, Value]:
        """The sine and cosine of x minus whole quarter turns, and the number of quarter turns."""
        build = self.builder
        rounded = self.fma(x, self.number(2 / math.pi), self.number(_ROUND))
        n = build.fsub(rounded, self.number(_ROUND))
        r = x
        for part in _HALF_PI:
            r = self.fma(n, self.number(-part), r)
        square = build.fmul(r, r)
        sine = self.fma(build.fmul(self.polynomial(_SIN, square), square), r, r)
        cosine = self.fma(self.polynomial(_COS, square), square, self.number(1.0))
        return sine, cosine, self.bits(rounded)

    def _turned(self, sine: Value, cosine: Value, turns: Value) -> Value:
        """The sine after ``turns`` more quarter turns."""
        build, zero = self.builder, self.whole(0)
        odd = build.icmp_signed("!=", build.and_(turns, self.whole(1)), zero)
        half = build.and_(build.lshr(turns, self.whole(1)), self.whole(1))
        sign = build.shl(half, self.whole(63))
        return self.from_bits(build.xor(self.bits(build.select(odd, cosine, sine)), sign))

    def _serves_angle(self, x: Value) -> Value:
        limit = self.number(_LARGEST_ANGLE)
        build = self.builder
        is_low = build.fcmp_ordered("<=", x, limit)
        return build.and_(is_low, build.fcmp_ordered(">=", x, self.number(-_LARGEST_ANGLE)))

    def _sin(self, x: Value) -> tuple[Value, Value]:
        return self._turned(*self._angle(x)), self._serves_angle(x)

    def _cos(self, x: Value) -> tuple[Value, Value]:
        sine, cosine, turns = self._angle(x)
        ahead = self.builder.add(turns, self.whole(1))
        return self._turned(sine, cosine, ahead), self._serves_angle(x)

    def _tan(self, x: Value) -> tuple[Value, Value]:
        sine, cosine, turns = self._angle(x)
        ahead = self.builder.add(turns, self.whole(1))
        above, below = self._turned(sine, cosine, turns), self._turned(sine, cosine, ahead)
        return self.builder.fdiv(above, below), self._serves_angle(x)


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")
