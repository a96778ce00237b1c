"""Element types and Halide's promotion rules between them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, cast

import numpy as np
from attrs import frozen

TypeCode = Literal["int", "uint", "float"]


class _OneEach(type):
    """A metaclass: a call of its class returns the one type of that code, width and lanes. Building
    an expression compares and hashes types, and identity makes that cheap.
    """

    _known: ClassVar[dict[tuple[str, int, int], Type]] = {}

    def __call__(cls, code: TypeCode, bits: int, lanes: int = 1) -> Any:
        key = (code, bits, lanes)
        known = _OneEach._known.get(key)
        if known is None:
            known = _OneEach._known.setdefault(key, super().__call__(*key))
        return known


@frozen(slots=True, eq=False)
class Type(metaclass=_OneEach):
    """A scalar (``lanes == 1``) or vector element type; ``uint1`` is Halide's boolean."""

    code: TypeCode
    bits: int
    lanes: int = 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Type, (self.code, self.bits, self.lanes)

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.code == "float"

    @property
    def is_int(self) -> bool:
        """Whether this is a signed integer type."""
        return self.code == "int"

    @property
    def is_uint(self) -> bool:
        """Whether this is an unsigned integer type; the boolean type is one."""
        return self.code == "uint"

    @property
    def is_bool(self) -> bool:
        """Whether this is the boolean type, one bit wide."""
        return self.code == "uint" and self.bits == 1

    @property
    def bytes(self) -> int:
        """The bytes of one element (one lane) in memory; a boolean takes one."""
        return max(1, self.bits // 8)

    @property
    def element(self) -> Type:
        """The type of one lane."""
        return self if self.lanes == 1 else Type(self.code, self.bits)

    def with_lanes(self, lanes: int) -> Type:
        """The vector type of ``lanes`` elements of this type."""
        return Type(self.code, self.bits, lanes)

    @property
    def min_value(self) -> int:
        """Smallest integer the type holds; meaningless for floats."""
        return -(1 << (self.bits - 1)) if self.is_int else 0

    @property
    def max_value(self) -> int:
        """Largest integer the type holds; meaningless for floats."""
        return (1 << (self.bits - 1)) - 1 if self.is_int else (1 << self.bits) - 1

    def wrap(self, value: int) -> int:
        """``value`` wrapped into the range of this integer type (modulo 2**bits)."""
        value &= (1 << self.bits) - 1
        if self.is_int and value >> (self.bits - 1):
            value -= 1 << self.bits
        return value

    def holds(self, value: int) -> bool:
        """Whether this type represents the integer ``value`` exactly."""
        if self.code == "int":
            half = 1 << (self.bits - 1)
            return -half <= value < half
        if self.code == "float":
            return abs(value) <= 1 << (24 if self.bits == 32 else 53)
        return 0 <= value < 1 << self.bits

    def holds_all(self, other: Type) -> bool:
        """Whether both are integer types, and this type holds every value of the other."""
        whole = not (self.is_float or other.is_float)
        return whole and self.holds(other.min_value) and self.holds(other.max_value)

    @property
    def dtype(self) -> np.dtype:
        """The NumPy element type with the same memory layout."""
        return np.dtype("bool") if self.is_bool else np.dtype(f"{self.code}{self.bits}")

    def __str__(self) -> str:
        name = "bool" if self.is_bool else f"{self.code}{self.bits}"
        return name if self.lanes == 1 else f"{name}x{self.lanes}"


Bool = Type("uint", 1)
Int8, Int16, Int32, Int64 = (Type("int", b) for b in (8, 16, 32, 64))
UInt8, UInt16, UInt32, UInt64 = (Type("uint", b) for b in (8, 16, 32, 64))
Float32, Float64 = Type("float", 32), Type("float", 64)

SCALAR_TYPES: dict[str, Type] = {
    str(t): t
    for t in (
        *(Bool, Int8, Int16, Int32, Int64),
        *(UInt8, UInt16, UInt32, UInt64),
        *(Float32, Float64),
    )
}


def type_of(dtype: object) -> Type:
    """The :class:`Type` of a NumPy dtype, a type name such as ``"uint8"``, or a Type itself.

    Raises:
        TypeError: no element type of the library has that name.
    """
    if isinstance(dtype, Type):
        return dtype
    name = dtype if isinstance(dtype, str) else np.dtype(cast(Any, dtype)).name
    if name not in SCALAR_TYPES:
        raise TypeError(
            f"{name!r} is not an element type; choose one of {', '.join(SCALAR_TYPES)}."
        )
    return SCALAR_TYPES[name]


def promote(a: Type, b: Type) -> Type:
    """The common type of two operands, by Halide's rules.

    Floats win over integers and the wider float wins; two integers of one signedness give the
    wider; a signed and an unsigned integer give a signed one of the wider width.
    """
    if a is b and a.lanes == 1:
        return a
    if a.is_float or b.is_float:
        if a.is_float and b.is_float:
            return a if a.bits >= b.bits else b
        return a if a.is_float else b
    bits = max(a.bits, b.bits)
    if a.code == b.code:
        return Type(a.code, bits)
    return Type("int", bits)
