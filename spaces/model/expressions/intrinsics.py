"""The intrinsics: operators that every target computes by its own function.

An entry holds all readings of one intrinsic side by side, and every layer reads them here. Add an
entry, and a function in ``functions.py`` or ``integer_functions.py`` that checks its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Bool

Array: TypeAlias = NDArray[Any]


@frozen
class FloatFunction:
    """A function of floats; its operands and its result have one type.

    Attributes:
        name: its name here and in Halide.
        array: its NumPy reading.
        llvm: LLVM's intrinsic, if a CPU has one instruction for it; None if a series or the C
            library computes the function.
        cuda: CUDA's function of doubles; the name for floats adds ``f``.
        operands: the number of operands.
        has_series: whether a CPU computes it for float32 by a series, on all lanes at once. Without
            a series and an intrinsic, it calls the C library for each lane.
    """

    name: str
    array: Callable[..., Array]
    cuda: str
    llvm: str | None = None
    operands: int = 1
    has_series: bool = False


@frozen
class BitCount:
    """A count of bits of an integer, in the type of that integer.

    Attributes:
        name: its name here and in Halide.
        array: its NumPy reading.
        counted: its reading in formulas and solvers: the conditions to count. The arguments are
            the value as an unsigned number and the powers of two up to its highest bit.
        llvm: LLVM's intrinsic.
        cuda: the CUDA C device function, which takes the value and its number of bits.
    """

    name: str
    array: Callable[[Array], Array]
    counted: Callable[[Expr, Sequence[Expr]], Iterator[Expr]]
    llvm: str
    cuda: str


def _unsigned(a: Array) -> Array:
    return a.view(f"u{a.dtype.itemsize}")


def _popcount(a: Array) -> Array:
    return np.asarray(np.bitwise_count(_unsigned(a)), a.dtype)


def _set_bits(value: Expr, powers: Sequence[Expr]) -> Iterator[Expr]:
    """A bit is set if the value without the higher bits is at least the power of that bit."""
    for power, next_one in zip(powers, (*powers[1:], None), strict=True):
        below = value if next_one is None else value % next_one
        yield Op(Bool, "ge", (below, power))


def _count_leading_zeros(a: Array) -> Array:
    value = _unsigned(a)
    for step in (1, 2, 4, 8, 16, 32)[: int(a.dtype.itemsize * 8).bit_length() - 1]:
        value = value | value >> value.dtype.type(step)  # all bits below the highest one
    return _popcount(~value).astype(a.dtype)


def _leading_zeros(value: Expr, powers: Sequence[Expr]) -> Iterator[Expr]:
    """A bit is a leading zero if the value is less than the power of that bit."""
    return (Op(Bool, "lt", (value, power)) for power in powers)


def _count_trailing_zeros(a: Array) -> Array:
    value = _unsigned(a)
    return _popcount(~value & (value - value.dtype.type(1))).astype(a.dtype)


def _trailing_zeros(value: Expr, powers: Sequence[Expr]) -> Iterator[Expr]:
    """A bit is a trailing zero if the next higher power divides the value."""
    zero = constant(0, value.type)
    yield from (Op(Bool, "eq", (value % power, zero)) for power in powers[1:])
    yield Op(Bool, "eq", (value, zero))


_FLOAT_FUNCTIONS = (
    FloatFunction("sqrt", np.sqrt, cuda="sqrt", llvm="sqrt"),
    FloatFunction("sin", np.sin, cuda="sin", has_series=True),
    FloatFunction("cos", np.cos, cuda="cos", has_series=True),
    FloatFunction("tan", np.tan, cuda="tan", has_series=True),
    FloatFunction("exp", np.exp, cuda="exp", has_series=True),
    FloatFunction("log", np.log, cuda="log", has_series=True),
    FloatFunction("floor", np.floor, cuda="floor", llvm="floor"),
    FloatFunction("ceil", np.ceil, cuda="ceil", llvm="ceil"),
    FloatFunction("pow", np.power, cuda="pow", operands=2, has_series=True),
    FloatFunction("round", np.rint, cuda="rint", llvm="rint"),
    FloatFunction("trunc", np.trunc, cuda="trunc", llvm="trunc"),
    FloatFunction("asin", np.arcsin, cuda="asin"),
    FloatFunction("acos", np.arccos, cuda="acos"),
    FloatFunction("atan", np.arctan, cuda="atan"),
    FloatFunction("atan2", np.arctan2, cuda="atan2", operands=2),
    FloatFunction("sinh", np.sinh, cuda="sinh"),
    FloatFunction("cosh", np.cosh, cuda="cosh"),
    FloatFunction("tanh", np.tanh, cuda="tanh"),
    FloatFunction("asinh", np.arcsinh, cuda="asinh"),
    FloatFunction("acosh", np.arccosh, cuda="acosh"),
    FloatFunction("atanh", np.arctanh, cuda="atanh"),
)

_BIT_COUNTS = (
    BitCount(
        "count_leading_zeros",
        array=_count_leading_zeros,
        counted=_leading_zeros,
        llvm="ctlz",
        cuda="""\
// Leading zeros of a number of the given bits.
static __device__ inline int count_leading_zeros(unsigned long long a, int bits) {
    return __clzll((long long)a) - (64 - bits);
}
""",
    ),
    BitCount(
        "count_trailing_zeros",
        array=_count_trailing_zeros,
        counted=_trailing_zeros,
        llvm="cttz",
        cuda="""\
// Trailing zeros of a number of the given bits; all bits for 0.
static __device__ inline int count_trailing_zeros(unsigned long long a, int bits) {
    return a == 0 ? bits : __ffsll((long long)a) - 1;
}
""",
    ),
    BitCount(
        "popcount",
        array=_popcount,
        counted=_set_bits,
        llvm="ctpop",
        cuda="""\
// The number of set bits.
static __device__ inline int popcount(unsigned long long a, int bits) { return __popcll(a); }
""",
    ),
)

FLOAT_FUNCTIONS: Mapping[str, FloatFunction] = {one.name: one for one in _FLOAT_FUNCTIONS}
"""The functions of floats, by name."""

BIT_COUNTS: Mapping[str, BitCount] = {one.name: one for one in _BIT_COUNTS}
"""The counts of bits, by name."""

INTRINSICS: Mapping[str, FloatFunction | BitCount] = {**FLOAT_FUNCTIONS, **BIT_COUNTS}
"""All intrinsics, by name."""
