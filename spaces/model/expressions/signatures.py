"""The operators that every layer knows, and the types of their operands and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from spaces.model.expressions.intrinsics import BIT_COUNTS, FLOAT_FUNCTIONS
from spaces.model.expressions.operators import ARITHMETIC, BITWISE, COMPARISONS, LOGIC
from spaces.model.expressions.types import Bool, Float64, Type

BITS = (*BITWISE, "shift_left", "shift_right", *BIT_COUNTS, "reinterpret")
OPERATORS = (*ARITHMETIC, *COMPARISONS, *LOGIC, *FLOAT_FUNCTIONS, *BITS, "abs", "select")
"""The names of an ``Op`` that every layer knows. :mod:`spaces.model.expressions.definitions` adds
operators defined by these.

- ``div`` rounds so that ``mod`` is never negative; both give 0 for a zero divisor, as in Halide.
- ``select`` takes ``(condition, if_true, if_false)``.
- A shift by ``n`` multiplies or divides by ``2**n``, rounds down and keeps the bits that fit; a
  negative ``n`` shifts the other way.
- ``round`` gives the even one of two equally near numbers.
"""

Signature: TypeAlias = Callable[[Type, tuple[Type, ...]], bool]
"""Tells whether a result type and operand types fit together."""


def is_pair(result: Type, operands: tuple[Type, ...]) -> bool:
    """Two numbers of the type of the result."""
    return operands == (result, result) and not result.is_bool


def is_integer_pair(result: Type, operands: tuple[Type, ...]) -> bool:
    """Two integers of the type of the result."""
    return is_pair(result, operands) and not result.is_float


def is_widening(result: Type, operands: tuple[Type, ...]) -> bool:
    """Two integers with half the bits of the result; the result is signed if one operand is."""
    if len(operands) != 2 or result.is_float or any(o.is_float or o.is_bool for o in operands):
        return False
    is_signed = any(o.is_int for o in operands)
    return result.is_int == is_signed and all(2 * o.bits == result.bits for o in operands)


def is_shift(result: Type, operands: tuple[Type, ...]) -> bool:
    """An integer of the type of the result, and an integer of the same width."""
    return (
        len(operands) == 2
        and operands[0] == result
        and not any(o.is_float or o.is_bool or o.bits != result.bits for o in operands)
    )


def is_widening_shift(result: Type, operands: tuple[Type, ...]) -> bool:
    """Two integers with half the bits of the result; the first has the result's signedness."""
    return (
        len(operands) == 2
        and not any(o.is_float or o.is_bool or 2 * o.bits != result.bits for o in operands)
        and result.code == operands[0].code
    )


def is_required(result: Type, operands: tuple[Type, ...]) -> bool:
    """A condition, a value of the type of the result, and the parts of a message."""
    return len(operands) >= 3 and operands[0].element == Bool and operands[1] == result


def is_foreign(result: Type, operands: tuple[Type, ...]) -> bool:
    """The name of foreign code, the number of a component, the cost of an element, and the
    arguments of the code.
    """
    return len(operands) >= 3 and operands[2] == Float64


def is_unary(result: Type, operands: tuple[Type, ...]) -> bool:
    """One value of the type of the result."""
    return operands == (result,)


def is_integer_unary(result: Type, operands: tuple[Type, ...]) -> bool:
    """One integer of the type of the result."""
    return operands == (result,) and not result.is_float and not result.is_bool


def is_float_test(result: Type, operands: tuple[Type, ...]) -> bool:
    """One float; the result is a condition."""
    return result == Bool and len(operands) == 1 and operands[0].is_float


def is_float32(count: int) -> Signature:
    """``count`` operands of type float32; the result is float32, too."""
    return lambda result, operands: (
        result.is_float and result.bits == 32 and operands == (result,) * count
    )


def of_integers(result: Type) -> Signature:
    """One or more integers of 32 bits; the result has the type ``result``."""
    return lambda found, operands: (
        found == result and bool(operands) and all(o.bits == 32 and o != Bool for o in operands)
    )


def is_mul_shift(result: Type, operands: tuple[Type, ...]) -> bool:
    """Two integers of the type of the result, at most 32 bits wide, and an unsigned integer."""
    return (
        len(operands) == 3
        and is_integer_pair(result, operands[:2])
        and result.bits < 64
        and operands[2] == Type("uint", result.bits, result.lanes)
    )


def is_mux(result: Type, operands: tuple[Type, ...]) -> bool:
    """An index, and two or more values of the type of the result."""
    is_choice = len(operands) > 2 and not operands[0].is_float
    return is_choice and all(value == result for value in operands[1:])


def is_lerp(result: Type, operands: tuple[Type, ...]) -> bool:
    """Two numbers of the type of the result, and a weight, unsigned or float."""
    is_weight = len(operands) == 3 and not operands[2].is_int
    return is_weight and operands[:2] == (result, result) and (result.is_float or result.bits < 64)


def is_comparison(result: Type, operands: tuple[Type, ...]) -> bool:
    """Two values of one type; the result is a condition."""
    return len(operands) == 2 and operands[0] == operands[1] and result.element == Bool


def _is_logic(count: int) -> Signature:
    return lambda result, operands: operands == (result,) * count and result.element == Bool


def _is_choice(result: Type, operands: tuple[Type, ...]) -> bool:
    return operands[1:] == (result, result) and operands[0].element == Bool


def _is_magnitude(result: Type, operands: tuple[Type, ...]) -> bool:
    if len(operands) != 1 or operands[0].is_uint or result.lanes != operands[0].lanes:
        return False
    code = "float" if operands[0].is_float else "uint"
    return result.code == code and result.bits == operands[0].bits


def _is_float(count: int) -> Signature:
    return lambda result, operands: result.is_float and operands == (result,) * count


SIGNATURES: Mapping[str, Signature] = {
    **dict.fromkeys(ARITHMETIC, is_pair),
    **dict.fromkeys(("min", "max"), lambda result, operands: operands == (result, result)),
    **dict.fromkeys(COMPARISONS, is_comparison),
    **dict.fromkeys(LOGIC, _is_logic(2)),
    "not": _is_logic(1),
    **{name: _is_float(one.operands) for name, one in FLOAT_FUNCTIONS.items()},
    "select": _is_choice,
    "abs": _is_magnitude,
    **dict.fromkeys(BIT_COUNTS, is_integer_unary),
    **dict.fromkeys(BITWISE, is_integer_pair),
    **dict.fromkeys(("shift_left", "shift_right"), is_shift),
    "reinterpret": lambda result, operands: (
        len(operands) == 1 and result.bits == operands[0].bits and not result.is_bool
    ),
}
"""The signatures of :data:`OPERATORS`."""
