"""Halide's operators as LLVM instructions, on scalars and vectors, exact in their type.

``spaces.backend.arithmetic`` defines each operator, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache, reduce
from typing import Any

from attrs import frozen
from llvmlite import ir

from spaces.backend.llvm.approximate import APPROXIMATE, approximate
from spaces.backend.llvm.elementary import BY_LIBRARY, elementary
from spaces.backend.llvm.float_ranges import UNKNOWN, FloatRange
from spaces.backend.llvm.runtime.blocks import IRType, Value
from spaces.model.expressions.intrinsics import BIT_COUNTS, FLOAT_FUNCTIONS, FloatFunction
from spaces.model.expressions.types import Type


class FloatMode(StrEnum):
    """How far results of float arithmetic may differ from the expressions as written."""

    STRICT = "strict"
    """Each operation rounds as written; results equal the reference bit for bit."""

    CONTRACT = "contract"
    """A product and the sum around it may round once instead of twice (fused multiply-add)."""

    FAST = "fast"
    """Code may also reorder sums and use reciprocals for divisions. Exponentials, logarithms and
    powers may be off by a few units in the last place. Values must not be NaN or infinite.
    """


_FLAGS = {FloatMode.STRICT: (), FloatMode.CONTRACT: ("contract",), FloatMode.FAST: ("fast",)}

_PREDICATES = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


@cache
def llvm_type(type: Type) -> IRType:
    """The LLVM type of a value; booleans are single bits."""
    element: IRType
    if type.is_float:
        element = ir.FloatType() if type.bits == 32 else ir.DoubleType()
    else:
        element = ir.IntType(type.bits)
    return element if type.lanes == 1 else ir.VectorType(element, type.lanes)


def memory_type(type: Type) -> IRType:
    """The LLVM type of a value in memory; a boolean takes a byte there."""
    return llvm_type(Type("uint", 8, type.lanes) if type.is_bool else type)


def literal(type: Type, value: int | float) -> Value:
    """A constant, the same in every lane."""
    kind = llvm_type(type)
    if type.lanes == 1:
        return ir.Constant(kind, value)
    return ir.Constant(kind, [ir.Constant(kind.element, value)] * type.lanes)


def suffix(type: Type) -> str:
    """The part of an intrinsic's name that names the type, such as ``v8f32``."""
    element = f"{'f' if type.is_float else 'i'}{type.bits}"
    return element if type.lanes == 1 else f"v{type.lanes}{element}"


@frozen
class Operators:
    """Emits operators at the position of ``builder``."""

    module: Any
    builder: Any
    float_mode: FloatMode = FloatMode.STRICT

    def intrinsic(self, name: str, result: IRType, *args: Value) -> Value:
        """Calls a function or intrinsic by its full name."""
        function = self.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(result, [a.type for a in args])
            function = ir.Function(self.module, kind, name)
            if not name.startswith("llvm."):
                function.attributes.add("nounwind")
        return self.builder.call(function, args)

    def op(self, name: str, type: Type, kinds: Sequence[Type], args: Sequence[Value]) -> Value:
        """The operator ``name`` with result type ``type`` over values of the types ``kinds``."""
        operand = kinds[0]
        if name in _PREDICATES:
            return self._compare(_PREDICATES[name], operand, *args)
        if name in _LOGIC:
            return _LOGIC[name](self, *args)
        if name == "select":
            return self.builder.select(*args)
        if name in ("shift_left", "shift_right"):
            return self._shift(name, type, kinds[1], *args)
        if name == "reinterpret":
            kind = llvm_type(type)
            return args[0] if args[0].type == kind else self.builder.bitcast(args[0], kind)
        family = _FLOAT if operand.is_float else (_BOOL if operand.is_bool else _INTEGER)
        return family[name](self, operand, *args)

    def reduced(self, name: str, type: Type, value: Value) -> Value:
        """All lanes of a vector combined by ``name``. Combines two halves while the number of lanes
        is even, then the remaining lanes one by one.
        """
        build, count = self.builder, type.lanes
        while count % 2 == 0:
            count //= 2
            half = Type(type.code, type.bits, count)
            parts = [
                build.shuffle_vector(
                    value,
                    ir.Constant(value.type, ir.Undefined),
                    ir.Constant(
                        ir.VectorType(ir.IntType(32), count),
                        [ir.Constant(ir.IntType(32), first + lane) for lane in range(count)],
                    ),
                )
                for first in (0, count)
            ]
            value = self.op(name, half, (half, half), parts)
        lanes = [build.extract_element(value, ir.Constant(ir.IntType(32), n)) for n in range(count)]
        single = Type(type.code, type.bits)
        return reduce(lambda a, b: self.op(name, single, (single, single), (a, b)), lanes)

    def _compare(self, predicate: str, type: Type, a: Value, b: Value) -> Value:
        if type.is_float:
            compare = (
                self.builder.fcmp_unordered if predicate == "!=" else self.builder.fcmp_ordered
            )
            return compare(predicate, a, b)
        if type.is_int:
            return self.builder.icmp_signed(predicate, a, b)
        return self.builder.icmp_unsigned(predicate, a, b)

    def _choose(self, predicate: str, type: Type, a: Value, b: Value) -> Value:
        return self.builder.select(self._compare(predicate, type, a, b), a, b)

    def _float(self, name: str, a: Value, b: Value) -> Value:
        return getattr(self.builder, name)(a, b, flags=_FLAGS[self.float_mode])

    def _float_mod(self, type: Type, a: Value, b: Value) -> Value:
        whole = self._unary("floor", type, self._float("fdiv", a, b))
        return self._float("fsub", a, self._float("fmul", b, whole))

    def _unary(self, name: str, type: Type, a: Value) -> Value:
        return self.intrinsic(f"llvm.{name}.{suffix(type)}", a.type, a)

    def _count(self, name: str, type: Type, a: Value) -> Value:
        """The number of zero bits at one end; all bits for 0."""
        is_poison = ir.Constant(ir.IntType(1), 0)
        return self.intrinsic(f"llvm.{name}.{suffix(type)}", a.type, a, is_poison)

    def _shift(self, name: str, value: Type, amount: Type, a: Value, by: Value) -> Value:
        """A shift; a negative amount shifts the other way, and a too large amount leaves no
        bits.
        """
        number = constant_of(by)
        if number is not None:
            number = amount.wrap(number)
            is_left = (name == "shift_left") == (number >= 0)
            return self._shift_by(is_left, value, a, literal(value, 0), abs(number))
        build = self.builder
        if amount.is_uint:
            return self._shift_within(name == "shift_left", value, a, by)
        is_forward = build.icmp_signed(">=", by, literal(amount, 0))
        back = build.sub(literal(amount, 0), by)
        forward = self._shift_within(name == "shift_left", value, a, by)
        backward = self._shift_within(name != "shift_left", value, a, back)
        return build.select(is_forward, forward, backward)

    def _shift_by(self, is_left: bool, type: Type, a: Value, zero: Value, number: int) -> Value:
        if number >= type.bits:
            if is_left or type.is_uint:
                return zero
            number = type.bits - 1
        by = literal(type, number)
        if is_left:
            return self.builder.shl(a, by)
        return (self.builder.ashr if type.is_int else self.builder.lshr)(a, by)

    def _shift_within(self, is_left: bool, type: Type, a: Value, by: Value) -> Value:
        """A shift by an amount that is read as unsigned."""
        build, most = self.builder, literal(type, type.bits - 1)
        fits = build.icmp_unsigned("<=", by, most)
        if not is_left and type.is_int:
            return build.ashr(a, build.select(fits, by, most))
        # A too large shift has no value in LLVM, so the code shifts by 0 instead.
        shifted = (build.shl if is_left else build.lshr)(
            a, build.select(fits, by, literal(type, 0))
        )
        return build.select(fits, shifted, literal(type, 0))

    def _elementary(self, name: str, type: Type, *args: Value) -> Value:
        if type.bits == 64 and name not in BY_LIBRARY:
            return self.intrinsic(f"llvm.{name}.{suffix(type)}", args[0].type, *args)
        is_fast = self.float_mode is FloatMode.FAST and name in APPROXIMATE
        made = (approximate if is_fast else elementary)(self.module, name, args[0].type, len(args))
        return self.builder.call(made, args)

    def _abs(self, type: Type, a: Value) -> Value:
        zero = literal(type, 0)
        negative = self.builder.icmp_signed("<", a, zero)
        return self.builder.select(negative, self.builder.sub(zero, a), a)

    def _div(self, type: Type, a: Value, b: Value) -> Value:
        return self._divide(type, a, b)[0]

    def _mod(self, type: Type, a: Value, b: Value) -> Value:
        return self._divide(type, a, b)[1]

    def _divide(self, type: Type, a: Value, b: Value) -> tuple[Value, Value]:
        """The quotient and the remainder. The remainder is never negative; both are 0 if ``b`` is
        0.
        """
        number = constant_of(b)
        if number is not None and number > 0:
            quotient = self._divide_by_number(type, a, b, number)
            if number & (number - 1) == 0:
                return quotient, self.builder.and_(a, literal(type, number - 1))
            return quotient, self.builder.sub(a, self.builder.mul(quotient, b))
        return (
            self._divide_unsigned(type, a, b) if type.is_uint else self._divide_signed(type, a, b)
        )

    def _divide_by_number(self, type: Type, a: Value, b: Value, number: int) -> Value:
        build = self.builder
        if type.is_uint:
            return build.udiv(a, b)
        if number & (number - 1) == 0:
            return build.ashr(a, literal(type, number.bit_length() - 1))
        # With s = a < 0 ? -1 : 0, floor(a / b) is ((a ^ s) / b) ^ s, and a ^ s is not negative.
        sign = build.ashr(a, literal(type, type.bits - 1))
        return build.xor(build.udiv(build.xor(a, sign), b), sign)

    def _divide_unsigned(self, type: Type, a: Value, b: Value) -> tuple[Value, Value]:
        build, zero = self.builder, literal(type, 0)
        is_zero = build.icmp_unsigned("==", b, zero)
        safe = build.select(is_zero, literal(type, 1), b)
        quotient, rest = build.udiv(a, safe), build.urem(a, safe)
        return build.select(is_zero, zero, quotient), build.select(is_zero, zero, rest)

    def _divide_signed(self, type: Type, a: Value, b: Value) -> tuple[Value, Value]:
        """The quotient and remainder of signed integers. The processor traps on a division by 0,
        and of the smallest integer by -1, so the code avoids both.
        """
        build, zero, one = self.builder, literal(type, 0), literal(type, 1)
        is_zero = build.icmp_signed("==", b, zero)
        is_minus = build.icmp_signed("==", b, literal(type, -1))
        safe = build.select(build.or_(is_zero, is_minus), one, b)
        quotient = build.sdiv(a, safe)
        rest = build.sub(a, build.mul(quotient, safe))
        is_below = build.icmp_signed("<", rest, zero)
        is_positive = build.icmp_signed(">", safe, zero)
        down = build.select(is_positive, literal(type, -1), one)
        magnitude = build.select(is_positive, safe, build.sub(zero, safe))
        quotient = build.add(quotient, build.select(is_below, down, zero))
        rest = build.add(rest, build.select(is_below, magnitude, zero))
        quotient = build.select(is_minus, build.sub(zero, a), quotient)
        return build.select(is_zero, zero, quotient), build.select(is_zero, zero, rest)

    def convert(
        self, source: Type, target: Type, value: Value, limits: FloatRange = UNKNOWN
    ) -> Value:
        """A cast: integers wrap, floats truncate toward zero and stay within the target. ``limits``
        is the known range of a float.
        """
        build, kind = self.builder, llvm_type(target)
        if source.is_float and target.is_float:
            if source.bits == target.bits:
                return value
            return (build.fpext if target.bits > source.bits else build.fptrunc)(value, kind)
        if source.is_float:
            return self._to_integer(source, target, value, limits)
        if target.is_float:
            return (build.sitofp if source.is_int else build.uitofp)(value, kind)
        if target.bits == source.bits:
            return value
        if target.bits < source.bits:
            return build.trunc(value, kind)
        return (build.sext if source.is_int else build.zext)(value, kind)

    def _to_integer(self, source: Type, target: Type, value: Value, limits: FloatRange) -> Value:
        """A float truncated toward zero and limited to the range of an integer type; 0 for NaN.

        LLVM's own saturating conversion goes lane by lane. The limits of narrow types are floats,
        so the code limits the float and then converts it. The largest int32 is not a float32, so a
        selection after the conversion handles floats beyond it.
        """
        build = self.builder
        is_narrow = target.bits < 32
        wide = Type("int", 32, target.lanes) if is_narrow else target
        limited = value
        if limits.low <= target.min_value - 1 or (target.is_uint and not limits.is_number):
            lowest = literal(source, float(target.min_value))
            # An unsigned type begins at 0, and 0 is also the result for NaN.
            limited = build.select(build.fcmp_ordered(">", value, lowest), value, lowest)
        is_beyond = limits.high >= target.max_value + 1
        is_exact = target.bits < (32 if source.bits == 32 else 64)
        if is_beyond and is_exact:
            highest = literal(source, float(target.max_value))
            limited = build.select(build.fcmp_ordered("<", limited, highest), limited, highest)
        whole = (build.fptosi if wide.is_int else build.fptoui)(limited, llvm_type(wide))
        if is_beyond and not is_exact:
            beyond = build.fcmp_ordered(">=", value, literal(source, float(target.max_value + 1)))
            whole = build.select(beyond, literal(target, target.max_value), whole)
        if target.is_int and not limits.is_number:
            is_number = build.fcmp_ordered("ord", value, value)
            whole = build.select(is_number, whole, literal(wide, 0))
        return build.trunc(whole, llvm_type(target)) if is_narrow else whole


def constant_of(value: Value) -> int | None:
    """The value of an integer constant, or of all lanes of a constant vector; None for other
    values.
    """
    if not isinstance(value, ir.Constant):
        return None
    number = value.constant
    if isinstance(number, list | tuple):
        lanes = {lane.constant for lane in number}
        number = lanes.pop() if len(lanes) == 1 else None
    return int(number) if isinstance(number, int) else None


_Emit = Callable[..., Value]


def _bit_count(llvm: str) -> _Emit:
    if llvm in ("ctlz", "cttz"):
        return lambda o, t, a: o._count(llvm, t, a)
    return lambda o, t, a: o._unary(llvm, t, a)


def _float_function(one: FloatFunction) -> _Emit:
    if one.llvm is not None:
        return lambda o, t, a: o._unary(one.llvm, t, a)
    return lambda o, t, *args: o._elementary(one.name, t, *args)


_LOGIC: dict[str, _Emit] = {
    "and": lambda o, a, b: o.builder.and_(a, b),
    "or": lambda o, a, b: o.builder.or_(a, b),
    "not": lambda o, a: o.builder.not_(a),
}

_INTEGER: dict[str, _Emit] = {
    "add": lambda o, t, a, b: o.builder.add(a, b),
    "sub": lambda o, t, a, b: o.builder.sub(a, b),
    "mul": lambda o, t, a, b: o.builder.mul(a, b),
    "div": Operators._div,
    "mod": Operators._mod,
    "min": lambda o, t, a, b: o._choose("<", t, a, b),
    "max": lambda o, t, a, b: o._choose(">", t, a, b),
    "abs": lambda o, t, a: o._abs(t, a),
    "bit_and": lambda o, t, a, b: o.builder.and_(a, b),
    "bit_or": lambda o, t, a, b: o.builder.or_(a, b),
    "bit_xor": lambda o, t, a, b: o.builder.xor(a, b),
    **{name: _bit_count(one.llvm) for name, one in BIT_COUNTS.items()},
}

_BOOL: dict[str, _Emit] = {
    "add": lambda o, t, a, b: o.builder.xor(a, b),
    "sub": lambda o, t, a, b: o.builder.xor(a, b),
    "mul": lambda o, t, a, b: o.builder.and_(a, b),
    "div": lambda o, t, a, b: o.builder.and_(a, b),
    "mod": lambda o, t, a, b: literal(t, 0),
    "min": lambda o, t, a, b: o.builder.and_(a, b),
    "max": lambda o, t, a, b: o.builder.or_(a, b),
}

_FLOAT: dict[str, _Emit] = {
    "add": lambda o, t, a, b: o._float("fadd", a, b),
    "sub": lambda o, t, a, b: o._float("fsub", a, b),
    "mul": lambda o, t, a, b: o._float("fmul", a, b),
    "div": lambda o, t, a, b: o._float("fdiv", a, b),
    "mod": Operators._float_mod,
    "min": lambda o, t, a, b: o._choose("<", t, a, b),
    "max": lambda o, t, a, b: o._choose(">", t, a, b),
    "abs": lambda o, t, a: o._unary("fabs", t, a),
    **{name: _float_function(one) for name, one in FLOAT_FUNCTIONS.items()},
}
