"""Element types and Halide's promotion between them, as literal tables.

Halide 21 gives these tables for ``cast(a, x) + cast(b, y)`` and similar expressions.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, as_expr, cast
from spaces.model.expressions.types import SCALAR_TYPES, Bool, Type, UInt8, promote, type_of

X = Var("x")

NAMES = ["bool", *(f"{code}{bits}" for bits in (8, 16, 32, 64) for code in ("uint", "int"))]
NAMES += ["float32", "float64"]
PROMOTED = """
bool    | bool    uint8   int8    uint16  int16   uint32  int32   uint64  int64   float32 float64
uint8   | uint8   uint8   int8    uint16  int16   uint32  int32   uint64  int64   float32 float64
int8    | int8    int8    int8    int16   int16   int32   int32   int64   int64   float32 float64
uint16  | uint16  uint16  int16   uint16  int16   uint32  int32   uint64  int64   float32 float64
int16   | int16   int16   int16   int16   int16   int32   int32   int64   int64   float32 float64
uint32  | uint32  uint32  int32   uint32  int32   uint32  int32   uint64  int64   float32 float64
int32   | int32   int32   int32   int32   int32   int32   int32   int64   int64   float32 float64
uint64  | uint64  uint64  int64   uint64  int64   uint64  int64   uint64  int64   float32 float64
int64   | int64   int64   int64   int64   int64   int64   int64   int64   int64   float32 float64
float32 | float32 float32 float32 float32 float32 float32 float32 float32 float32 float32 float64
float64 | float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64
"""
TABLE = {
    (row.split("|")[0].strip(), b): result
    for row in PROMOTED.strip().splitlines()
    for b, result in zip(NAMES, row.split("|")[1].split(), strict=True)
}


@pytest.mark.parametrize(("a", "b"), TABLE)
def test_promotion(a: str, b: str) -> None:
    assert str(promote(type_of(a), type_of(b))) == TABLE[a, b]
    if "bool" not in (a, b):
        assert str((cast(a, X) + cast(b, X)).type) == TABLE[a, b]
    assert (cast(a, X) < cast(b, X)).type == Bool


def u8(value: Expr) -> Expr:
    return cast("uint8", value)


def f32(value: Expr) -> Expr:
    return cast("float32", value)


@pytest.mark.parametrize(
    ("expr", "type_"),
    [
        (u8(X) + 3, "uint8"),
        (3 / u8(X), "uint8"),
        (-u8(X), "uint8"),
        (u8(X) * 0.5, "float32"),
        (X * 0.5, "float32"),
        (cast("float64", X) * 0.5, "float64"),
        (cast("float64", X) + 1, "float64"),
        (fn.min(u8(X), 3), "uint8"),
        (fn.min(u8(X), cast("int32", 3)), "int32"),
        (fn.select(X > 2, u8(X), 3), "uint8"),
        (fn.select(X > 2, u8(X), as_expr(3)), "uint8"),
        (fn.select(X > 2, as_expr(300), cast("int8", X)), "int8"),
        (fn.select(X > 2, cast("int8", 1), as_expr(300)), "int32"),
        (fn.select(X > 2, 3, f32(X)), "float32"),
        (fn.clamp(u8(X), 3, 200), "uint8"),
        (fn.clamp(X, u8(X), cast("uint16", X)), "int32"),
        (fn.abs(cast("int8", X)), "uint8"),
        (fn.abs(u8(X)), "uint8"),
        (fn.abs(f32(X)), "float32"),
        (fn.sqrt(X), "float32"),
        (fn.floor(u8(X)), "float32"),
        (fn.exp(cast("float64", X)), "float64"),
        (fn.pow(X, X), "float32"),
        (fn.pow(X, 2), "int32"),
        (fn.pow(X, 2.0), "float32"),
        (fn.pow(X, u8(as_expr(2))), "float32"),
    ],
)
def test_types_of_expressions(expr: Expr, type_: str) -> None:
    assert str(expr.type) == type_


@pytest.mark.parametrize(
    ("type_", "literal"),
    [("uint8", 300), ("uint8", -1), ("float32", 16777217), ("bool", 2), ("int8", 128)],
)
def test_literals_must_fit(type_: str, literal: int) -> None:
    with pytest.raises(OverflowError, match=f"{literal} does not fit {type_}"):
        fn.max(cast(type_, X), literal)


def test_clamp_refuses_limits_that_lose_values() -> None:
    with pytest.raises(TypeError, match="clamp limits"):
        fn.clamp(u8(X), 0, X)
    with pytest.raises(TypeError, match="clamp limits"):
        fn.clamp(cast("int16", X), 0, cast("uint16", X))
    with pytest.raises(TypeError, match="clamp limits"):
        fn.clamp(X, 0, as_expr(2.5))


def test_powers_by_constants_multiply_in_halides_order() -> None:
    base = f32(X)
    squared = base * base
    assert fn.pow(base, 5) is squared * squared * base
    assert fn.pow(base, 3) is base * base * base
    assert fn.pow(base, -2) is 1.0 / squared
    assert fn.pow(base, 1) is base
    assert fn.pow(base, 0) is cast("float32", 1)


def test_conditions_are_no_numbers() -> None:
    condition = X > 3
    for calculation in (operator.add, operator.mul, operator.mod):
        for operand in (1, condition):
            with pytest.raises(TypeError, match="cast them to a number"):
                calculation(condition, operand)
    assert ((X > 3) * u8(X)).type == UInt8
    assert fn.select(X > 3, X > 4, 1).type == Bool


@given(st.sampled_from([t for t in SCALAR_TYPES.values() if not t.is_float]), st.integers())
def test_wrapping_is_that_of_numpy(type_: Type, value: int) -> None:
    if type_.is_bool:
        assert type_.wrap(value) == value % 2
        return
    bits = np.array([value % 2**64], dtype=np.uint64)
    assert type_.wrap(value) == int(bits.astype(type_.dtype)[0])
    assert type_.holds(value) == (type_.wrap(value) == value)
    info = np.iinfo(type_.dtype)
    assert (type_.min_value, type_.max_value) == (info.min, info.max)


@pytest.mark.parametrize("name", NAMES)
def test_names_and_layouts(name: str) -> None:
    type_ = type_of(name)
    assert str(type_) == name
    assert type_of(type_.dtype) == type_ == type_of(type_)
    assert type_.bytes == type_.dtype.itemsize
    assert str(type_.with_lanes(4)) == f"{name}x4"
    assert type_.with_lanes(4).element == type_


def test_unknown_types_are_named() -> None:
    with pytest.raises(TypeError, match="'float16' is not an element type; choose one of bool"):
        type_of("float16")


def test_two_stars_are_pow() -> None:
    base = f32(X)
    assert base**3 is base * base * base
    assert base**0.5 is fn.pow(base, 0.5)
    assert 2**base is fn.pow(2, base)


@pytest.mark.parametrize("number", [3, -2, 0.5])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float32, np.float64])
def test_numbers_of_numpy_are_numbers(number: float, kind: type[np.number]) -> None:
    """Their value counts, not their type, as in Halide's Python bindings."""
    given = kind(number)
    plain = given.item()
    assert X + given is X + plain
    assert given + X is plain + X
    assert (X == given) is (X == plain)
    assert (X < given) is (X < plain)
    assert as_expr(given) is as_expr(plain)
    if isinstance(plain, int):
        assert X << given is X << plain
