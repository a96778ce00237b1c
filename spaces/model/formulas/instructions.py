"""Reads formulas as LLVM instructions on int64 numbers, doubles and single bits.

Results equal those of int64 arrays, bit for bit: sums and products wrap to 64 bits, division rounds
so that the remainder is never negative, and division by zero gives zero. Doubles round after each
operation, and the minimum of a number and NaN is NaN, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import NamedTuple

from attrs import define, field

from spaces.model.expressions.operators import BITWISE, COMPARISONS
from spaces.model.expressions.types import Int64, Type
from spaces.model.formulas.algebra import FormulaError, Reading
from spaces.model.formulas.corners import CORNERS, Ends

TRUTH, NUMBER, REAL = "i1", "i64", "double"
"""LLVM's names of the kinds of values."""

LANES = 4
"""The numbers that one instruction on vectors works on: 256 bits."""


def declarations(lanes: int) -> str:
    """The functions of LLVM that the instructions on that many lanes call."""
    whole, real = _type(NUMBER, lanes), _type(REAL, lanes)
    of_whole, of_real = _suffix(NUMBER, lanes), _suffix(REAL, lanes)
    return "".join(
        f"declare {signature}\n"
        for signature in (
            f"{whole} @llvm.smin.{of_whole}({whole}, {whole})",
            f"{whole} @llvm.smax.{of_whole}({whole}, {whole})",
            f"{whole} @llvm.abs.{of_whole}({whole}, i1)",
            f"{real} @llvm.fabs.{of_real}({real})",
            f"{real} @llvm.ceil.{of_real}({real})",
            f"{real} @llvm.floor.{of_real}({real})",
        )
    )


def _type(kind: str, lanes: int) -> str:
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


def _suffix(kind: str, lanes: int) -> str:
    name = "f64" if kind == REAL else kind
    return name if lanes == 1 else f"v{lanes}{name}"


_DOUBLE = Struct(">d")

_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_ORDERED = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}


class NotNativeError(FormulaError):
    """A formula without a reading as machine code: it has unsigned numbers of 64 bits, numbers of
    float32, or a constant beyond 64 bits.
    """


class Operand(NamedTuple):
    """A value: the name or the literal that stands for it, its kind, and the smallest and the
    largest number that it may be, where they are known.
    """

    text: str
    kind: str
    ends: Ends | None = None

    def is_within(self, low: int, high: int) -> bool:
        """Whether the value is known to lie between two numbers, both included."""
        return self.ends is not None and low <= self.ends[0] and self.ends[1] <= high

    @property
    def is_exact_real(self) -> bool:
        """Whether doubles around 1.5 * 2**52, which are one apart, can show the value."""
        return self.is_within(-(1 << 50), 1 << 50)


def number(value: int) -> Operand:
    """An integer literal.

    Raises:
        NotNativeError: it has more than 64 bits.
    """
    if not -(1 << 63) <= value < 1 << 63:
        raise NotNativeError(f"{value} has more than 64 bits.")
    return Operand(str(int(value)), NUMBER, (int(value), int(value)))


def real(value: float) -> Operand:
    """A literal of a double."""
    bits = int.from_bytes(_DOUBLE.pack(value), "big")
    return Operand(f"0x{bits:016X}", REAL)


@define
class Instructions:
    """Instructions, one a line, in the order of their execution.

    Attributes:
        lanes: the numbers that each instruction works on at once.
    """

    lanes: int = 1
    lines: list[str] = field(factory=list)
    _count: int = 0

    def add(self, instruction: str, kind: str) -> Operand:
        """The result of a further instruction."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return Operand(name, kind)

    def type(self, kind: str) -> str:
        """LLVM's name of the type of values of a kind."""
        return _type(kind, self.lanes)

    def splat(self, a: Operand) -> Operand:
        """A single number in every lane."""
        if self.lanes == 1:
            return a
        kind = self.type(a.kind)
        one = self.add(f"insertelement {kind} poison, {a.kind} {a.text}, i64 0", a.kind)
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.add(f"shufflevector {kind} {one.text}, {kind} poison, {zeros}", a.kind)

    def _text(self, a: Operand) -> str:
        is_literal = not a.text.startswith("%")
        return f"splat ({a.kind} {a.text})" if is_literal and self.lanes > 1 else a.text

    def _call(self, name: str, *operands: Operand, also: str = "") -> Operand:
        kind = operands[0].kind
        given = ", ".join(f"{self.type(kind)} {self._text(a)}" for a in operands)
        suffix = _suffix(kind, self.lanes)
        return self.add(f"call {self.type(kind)} @llvm.{name}.{suffix}({given}{also})", kind)

    @property
    def reading(self) -> Reading[Operand]:
        """The reading that adds its instructions here."""
        operators: dict[str, Callable[..., Operand]] = {
            "add": partial(self._arithmetic, "add"),
            "sub": partial(self._arithmetic, "sub"),
            "mul": partial(self._arithmetic, "mul"),
            "div": self._divide,
            "mod": self._modulo,
            "min": partial(self._extreme, "min"),
            "max": partial(self._extreme, "max"),
            "abs": self._absolute,
            "ceil": partial(self._rounded, "ceil"),
            "floor": partial(self._rounded, "floor"),
            "and": partial(self._logic, "and"),
            "or": partial(self._logic, "or"),
            "not": lambda a: self._binary("xor", self.truth(a), _TRUE),
            "select": self._select,
            "shift_left": partial(self._shift, True),
            "shift_right": partial(self._shift, False),
            **{name: partial(self._compare, name) for name in COMPARISONS},
            **{name: partial(self._bits, name.removeprefix("bit_")) for name in BITWISE},
        }
        for name in CORNERS.keys() & operators.keys():
            operators[name] = _with_ends(name, operators[name])
        return Reading(number, self._convert, operators, real)

    def truth(self, a: Operand) -> Operand:
        """Whether a value is not zero."""
        if a.kind == TRUTH:
            return a
        return self._compare("ne", a, _ZERO)

    def number(self, a: Operand) -> Operand:
        """A value as a number; a condition counts as 0 or 1."""
        if a.kind == TRUTH:
            return self._turned("zext", a, NUMBER)._replace(ends=(0, 1))
        return a

    def real(self, a: Operand) -> Operand:
        """A value as a double."""
        a = self.number(a)
        if a.kind == REAL:
            return a
        return self._turned("sitofp", a, REAL) if self.lanes == 1 else self._real_lanes(a)

    def _real_lanes(self, a: Operand) -> Operand:
        """Numbers as doubles. Most vector units lack the instruction. So small numbers become the
        low bits of a double. Of other numbers each half becomes the low bits of a double of known
        exponent: the high one at 2**84, the low one at 2**52. Only the sum of both rounds.
        """
        if a.is_exact_real:
            shifted = self._turned("bitcast", self._binary("add", a, _BITS_OF_SHIFT), REAL)
            return self._binary("fsub", shifted, _SHIFT)
        flipped = self._binary("xor", a, number(-(1 << 63)))
        high = self._binary("or", self._binary("lshr", flipped, number(32)), number(0x453 << 52))
        low = self._binary("and", a, number(0xFFFFFFFF))
        low = self._binary("or", low, number(0x433 << 52))
        offset = real(2.0**84 + 2.0**63 + 2.0**52)
        high = self._binary("fsub", self._turned("bitcast", high, REAL), offset)
        return self._binary("fadd", high, self._turned("bitcast", low, REAL))

    def _turned(self, name: str, a: Operand, kind: str) -> Operand:
        to = self.type(kind)
        return self.add(f"{name} {self.type(a.kind)} {self._text(a)} to {to}", kind)

    def _alike(self, a: Operand, b: Operand) -> tuple[Operand, Operand]:
        """Two doubles, or two integers."""
        if REAL in (a.kind, b.kind):
            return self.real(a), self.real(b)
        return self.number(a), self.number(b)

    def _binary(self, name: str, a: Operand, b: Operand) -> Operand:
        return self.add(f"{name} {self.type(a.kind)} {self._text(a)}, {self._text(b)}", a.kind)

    def _arithmetic(self, name: str, a: Operand, b: Operand) -> Operand:
        a, b = self._alike(a, b)
        if a.kind == REAL:
            return self._binary(f"f{name}", a, b)
        if name == "mul" and a.is_within(0, _HALF) and b.is_within(0, _HALF):
            # Vector units multiply halves of numbers; this tells that the upper ones are zero.
            a, b = self._binary("and", a, _LOW_HALF), self._binary("and", b, _LOW_HALF)
        return self._binary(name, a, b)

    def _bits(self, name: str, a: Operand, b: Operand) -> Operand:
        return self._binary(name, self.number(a), self.number(b))

    def _logic(self, name: str, a: Operand, b: Operand) -> Operand:
        return self._binary(name, self.truth(a), self.truth(b))

    def _compare(self, name: str, a: Operand, b: Operand) -> Operand:
        a, b = self._alike(a, b)
        if a.kind == REAL:
            return self._tested(f"fcmp {_ORDERED[name]}", a, b)
        return self._tested(f"icmp {_SIGNED[name]}", a, b)

    def _tested(self, name: str, a: Operand, b: Operand) -> Operand:
        return self.add(f"{name} {self.type(a.kind)} {self._text(a)}, {self._text(b)}", TRUTH)

    def _chosen(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        kind = self.type(a.kind)
        sides = f"{kind} {self._text(a)}, {kind} {self._text(b)}"
        return self.add(f"select {self.type(TRUTH)} {self._text(condition)}, {sides}", a.kind)

    def _select(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        if a.kind != b.kind:
            a, b = self._alike(a, b)
        chosen = self._chosen(self.truth(condition), a, b)
        if a.ends is None or b.ends is None:
            return chosen
        return chosen._replace(ends=(min(a.ends[0], b.ends[0]), max(a.ends[1], b.ends[1])))

    def _extreme(self, name: str, a: Operand, b: Operand) -> Operand:
        a, b = self._alike(a, b)
        if a.kind == NUMBER:
            return self._call(f"s{name}", a, b)
        if not a.text.startswith("%"):
            a, b = b, a
        # The comparison fails for NaN, which leaves a; a literal b is not NaN.
        chosen = self._chosen(self._compare("lt" if name == "min" else "gt", b, a), b, a)
        if not b.text.startswith("%"):
            return chosen
        return self._chosen(self._tested("fcmp uno", b, b), b, chosen)

    def _absolute(self, a: Operand) -> Operand:
        a = self.number(a)
        if a.kind == REAL:
            return self._call("fabs", a)
        return self._call("abs", a, also=", i1 false")

    def _rounded(self, name: str, a: Operand) -> Operand:
        return self._call(name, self.real(a))

    def _floored(self, a: Operand, b: Operand) -> Operand:
        """``a / b`` rounded down, for a positive ``b``."""
        if b.ends is not None and b.ends[0] == b.ends[1] and b.ends[0].bit_count() == 1:
            return self._binary("ashr", a, number(b.ends[0].bit_length() - 1))
        if self.lanes > 1 and a.is_exact_real and b.is_exact_real:
            # The next double is nearer to the quotient than the next whole number.
            quotient = self._binary("fdiv", self.real(a), self.real(b))
            shifted = self._binary("fadd", self._call("floor", quotient), _SHIFT)
            return self._binary("sub", self._turned("bitcast", shifted, NUMBER), _BITS_OF_SHIFT)
        quotient = self._binary("sdiv", a, b)
        rest = self._binary("sub", a, self._binary("mul", quotient, b))
        less = self._turned("sext", self._compare("lt", rest, _ZERO), NUMBER)
        return self._binary("add", quotient, less)

    def _divided(self, a: Operand, b: Operand) -> tuple[Operand, Operand]:
        """``a`` divided by the absolute value of ``b``, or by 1 for 0, rounded down; and this
        divisor.
        """
        if not b.is_within(1, _MOST):
            is_zero = self._compare("eq", b, _ZERO)
            magnitude = self._call("abs", b, also=", i1 false")
            b = self._chosen(is_zero, _ONE, magnitude)
        return self._floored(a, b), b

    def _divide(self, a: Operand, b: Operand) -> Operand:
        a, b = self._alike(a, b)
        if a.kind == REAL:
            return self._binary("fdiv", a, b)
        quotient, _ = self._divided(a, b)
        if b.is_within(1, _MOST):
            return quotient
        is_negative = self._compare("lt", b, _ZERO)
        signed = self._chosen(is_negative, self._binary("sub", _ZERO, quotient), quotient)
        return self._chosen(self._compare("eq", b, _ZERO), _ZERO, signed)

    def _modulo(self, a: Operand, b: Operand) -> Operand:
        a, b = self.number(a), self.number(b)
        quotient, divisor = self._divided(a, b)
        rest = self._binary("sub", a, self._binary("mul", quotient, divisor))
        if b.is_within(1, _MOST):
            return rest
        return self._chosen(self._compare("eq", b, _ZERO), _ZERO, rest)

    def _shift(self, is_left: bool, a: Operand, by: Operand) -> Operand:
        a, by = self.number(a), self.number(by)
        left = by if is_left else self._binary("sub", _ZERO, by)
        right = self._binary("sub", _ZERO, left)
        raised = self._binary("shl", a, self._amount(left))
        raised = self._chosen(self._compare("le", left, _MOST_SHIFT), raised, _ZERO)
        lowered = self._binary("ashr", a, self._amount(right))
        return self._chosen(self._compare("ge", left, _ZERO), raised, lowered)

    def _amount(self, by: Operand) -> Operand:
        """An amount that LLVM can shift by: from 0 to 63."""
        return self._extreme("min", self._extreme("max", by, _ZERO), _MOST_SHIFT)

    def _convert(self, type: Type, a: Operand) -> Operand:
        if type.is_float and type.bits == 64:
            return self.real(a)
        if a.kind == REAL or type.is_float or (type.is_uint and type.bits == 64):
            raise NotNativeError(f"Machine code of formulas has no conversion to {type}.")
        if type.is_bool:
            return a if a.kind == TRUTH else self.truth(self._binary("and", a, _ONE))
        a = self.number(a)
        if type.bits == 64 or a.is_within(type.min_value, type.max_value):
            return a
        ends = (type.min_value, type.max_value)
        if type.is_uint:
            return self._binary("and", a, number(type.max_value))._replace(ends=ends)
        unused = number(64 - type.bits)
        narrow = self._binary("ashr", self._binary("shl", a, unused), unused)
        return narrow._replace(ends=ends)


def _with_ends(name: str, combine: Callable[..., Operand]) -> Callable[..., Operand]:
    """The operator that knows the ends of its results, if the result cannot wrap."""

    def combined(*operands: Operand) -> Operand:
        result = combine(*operands)
        known = [operand.ends for operand in operands]
        if result.kind != NUMBER or None in known:
            return result
        ends = CORNERS[name](Int64, *known)
        is_sure = ends is not None and Int64.holds(ends[0]) and Int64.holds(ends[1])
        return result._replace(ends=ends if is_sure else None)

    return combined


_ZERO, _ONE, _MOST_SHIFT = number(0), number(1), number(63)
_TRUE = Operand("true", TRUTH)
_MOST, _HALF = Int64.max_value, 0xFFFFFFFF
_LOW_HALF = number(_HALF)
_SHIFT, _BITS_OF_SHIFT = real(1.5 * 2.0**52), number(0x4338 << 48)
"""Adding a small number to this double, or to its bits, gives the same bits."""
