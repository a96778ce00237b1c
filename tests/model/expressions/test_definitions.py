"""Operators with a definition against the same operators over Python's unbounded integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.reference.formula import Formula
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.definitions import DERIVED, arithmetic, expanded
from spaces.model.expressions.expr import Expr, Op, Variable, cast, constant, walk
from spaces.model.expressions.signatures import OPERATORS
from spaces.model.expressions.types import SCALAR_TYPES, Float32, Int32, Type, UInt8

INTEGERS = [t for t in SCALAR_TYPES.values() if not (t.is_float or t.is_bool)]
NARROW = [t for t in INTEGERS if t.bits <= 32]


def value(expr: Expr) -> int:
    """The value that the reference computes."""
    with np.errstate(all="ignore"):
        (found,) = Formula((expr,)).values({}, lambda call, at: at[0])
    return int(found)


def opaque(number: int, element: Type) -> Expr:
    """A literal that building an expression does not fold."""
    return constant(number, element)


@st.composite
def numbers(draw: st.DrawFn, among: list[Type], count: int = 2) -> tuple[Type, list[int]]:
    element = draw(st.sampled_from(among))
    low, high = element.min_value, element.max_value
    corner = st.sampled_from([low, high, 0, 1, max(low, -1), high // 2])
    one = st.one_of(st.integers(low, high), corner)
    return element, [draw(one) for _ in range(count)]


def saturated(element: Type, number: int) -> int:
    return min(max(number, element.min_value), element.max_value)


PAIRS: dict[str, tuple[Callable[..., Expr], Callable[[Type, int, int], int]]] = {
    "and": (lambda a, b: a & b, lambda t, a, b: a & b),
    "or": (lambda a, b: a | b, lambda t, a, b: a | b),
    "xor": (lambda a, b: a ^ b, lambda t, a, b: a ^ b),
    "not": (lambda a, b: ~a, lambda t, a, b: t.wrap(~a)),
    "absd": (fixed.absd, lambda t, a, b: abs(a - b)),
    "halving_add": (fixed.halving_add, lambda t, a, b: (a + b) // 2),
    "halving_sub": (fixed.halving_sub, lambda t, a, b: t.wrap((a - b) // 2)),
    "rounding_halving_add": (fixed.rounding_halving_add, lambda t, a, b: (a + b + 1) // 2),
    "saturating_add": (fixed.saturating_add, lambda t, a, b: saturated(t, a + b)),
    "saturating_sub": (fixed.saturating_sub, lambda t, a, b: saturated(t, a - b)),
    "popcount": (lambda a, b: fixed.popcount(a), lambda t, a, b: (a % (1 << t.bits)).bit_count()),
    "leading": (
        lambda a, b: fixed.count_leading_zeros(a),
        lambda t, a, b: t.bits - (a % (1 << t.bits)).bit_length(),
    ),
    "trailing": (
        lambda a, b: fixed.count_trailing_zeros(a),
        lambda t, a, b: (a & -a).bit_length() - 1 if a else t.bits,
    ),
}


@given(numbers(INTEGERS))
def test_pairs(case: tuple[Type, list[int]]) -> None:
    element, (a, b) = case
    for name, (function, meaning) in PAIRS.items():
        found = value(function(opaque(a, element), opaque(b, element)))
        assert found == meaning(element, a, b), name


@given(numbers(NARROW))
def test_widening_holds_every_result(case: tuple[Type, list[int]]) -> None:
    element, (a, b) = case
    x, y = constant(a, element), constant(b, element)
    wide = Type(element.code, 2 * element.bits)
    z = constant(b * 3, wide)
    assert value(fixed.widening_add(x, y)) == a + b
    assert value(fixed.widening_sub(x, y)) == a - b
    assert value(fixed.widening_mul(x, y)) == a * b
    assert fixed.widening_sub(x, y).type == Type("int", 2 * element.bits)
    assert value(fixed.widen_right_add(z, x)) == wide.wrap(b * 3 + a)
    assert value(fixed.widen_right_sub(z, x)) == wide.wrap(b * 3 - a)
    assert value(fixed.widen_right_mul(z, x)) == wide.wrap(wide.wrap(b * 3) * a)


@given(numbers(INTEGERS, 1), st.integers(-70, 70))
def test_shifts_multiply_by_powers_of_two(case: tuple[Type, list[int]], by: int) -> None:
    element, (a,) = case
    x = constant(a, element)
    exact = Fraction(a) * Fraction(2) ** by
    forms: list[int | Expr] = [by] if abs(by) < 1 << (element.bits - 1) else []
    if Type("int", element.bits).holds(by):
        forms.append(cast(Type("int", element.bits), constant(by, Int32)))
    for amount in forms:
        assert value(x << amount) == element.wrap(math.floor(exact))
        assert value(x >> amount) == element.wrap(math.floor(Fraction(a) / Fraction(2) ** by))
        nearest = element.wrap(math.floor(exact + Fraction(1, 2)))
        assert value(fixed.rounding_shift_left(x, amount)) == nearest, (by, amount)
        nearest = element.wrap(math.floor(Fraction(a) / Fraction(2) ** by + Fraction(1, 2)))
        assert value(fixed.rounding_shift_right(x, amount)) == nearest, (by, amount)


@given(numbers(NARROW, 1), st.integers(-70, 70))
def test_widening_shifts_have_twice_the_bits(case: tuple[Type, list[int]], by: int) -> None:
    element, (a,) = case
    wide, exact = Type(element.code, 2 * element.bits), Fraction(a) * Fraction(2) ** by
    x = constant(a, element)
    forms: list[int | Expr] = [by] if abs(by) < 1 << (element.bits - 1) else []
    if Type("int", element.bits).holds(by):
        forms.append(cast(Type("int", element.bits), constant(by, Int32)))
    for amount in forms:
        left, right = (
            fixed.widening_shift_left(x, amount),
            fixed.widening_shift_right(x, amount if isinstance(amount, Expr) else -amount),
        )
        assert left.type == right.type == wide
        assert value(left) == wide.wrap(math.floor(exact))
        opposite = Fraction(a) / Fraction(2) ** by if isinstance(amount, Expr) else exact
        assert value(right) == wide.wrap(math.floor(opposite))


@pytest.mark.parametrize(
    "function",
    [
        fixed.widening_add, fixed.widening_sub, fixed.widening_mul, fixed.widening_shift_left,
        fixed.widening_shift_right, lambda a, b: fixed.mul_shift_right(a, b, 3),
    ],
)  # fmt: skip
def test_no_func_holds_128_bits(function: Callable[[Expr, Expr], Expr]) -> None:
    a = constant(1, Type("uint", 64))
    with pytest.raises(TypeError, match=r"at most 32 bits \(twice as many hold its result\)"):
        function(a, a)


@given(numbers(NARROW), st.integers(0, 40))
def test_shifted_products_saturate(case: tuple[Type, list[int]], by: int) -> None:
    element, (a, b) = case
    x, y = constant(a, element), constant(b, element)
    assert value(fixed.mul_shift_right(x, y, by)) == saturated(element, (a * b) >> by)
    rounded = math.floor(Fraction(a * b, 1 << by) + Fraction(1, 2))
    assert value(fixed.rounding_mul_shift_right(x, y, by)) == saturated(element, rounded)


@given(numbers(INTEGERS, 1), st.sampled_from(INTEGERS))
def test_saturating_casts_of_integers(case: tuple[Type, list[int]], target: Type) -> None:
    element, (a,) = case
    found = value(fixed.saturating_cast(target, constant(a, element)))
    assert found == saturated(target, a)


@given(numbers(INTEGERS, 1), st.sampled_from(INTEGERS), st.integers(-70, 70))
def test_extracted_bits(case: tuple[Type, list[int]], target: Type, lowest: int) -> None:
    element, (a,) = case
    bits = a % (1 << element.bits)
    found = value(fixed.extract_bits(target, constant(a, element), lowest))
    kept = (bits << -lowest) % (1 << max(element.bits, 32)) if lowest < 0 else bits >> lowest
    assert found == target.wrap(kept)


def test_bits_of_a_float_are_extracted() -> None:
    assert value(fixed.extract_bits("uint16", constant(-2.0, Float32), 16)) == 0xC000
    with pytest.raises(TypeError, match="extract_bits cannot take bool from `3`"):
        fixed.extract_bits("bool", constant(3, UInt8), 0)
    with pytest.raises(TypeError, match="lowest bit of extract_bits takes integers"):
        fixed.extract_bits("uint8", constant(3, UInt8), 1.0)


@given(st.floats(width=32, allow_nan=False), st.sampled_from(INTEGERS))
def test_saturating_casts_of_floats(number: float, target: Type) -> None:
    limited = min(max(number, -1e30), 1e30)
    expected = saturated(target, math.trunc(limited))
    assert value(fixed.saturating_cast(target, constant(number, Float32))) == expected


@given(numbers([t for t in NARROW if t.bits < 32]), st.integers(0, 255))
def test_lerp_rounds_to_the_nearest(case: tuple[Type, list[int]], weight: int) -> None:
    element, (a, b) = case
    found = value(fixed.lerp(constant(a, element), constant(b, element), constant(weight, UInt8)))
    exact = a + Fraction(weight, 255) * (b - a)
    assert abs(found - exact) <= Fraction(1, 2)


def test_mux_and_chains_of_selects_take_the_first_that_fits() -> None:
    x = Variable(Int32, "x")
    picked = fn.mux(x, [10, 20, 30])
    chained = fn.select(x == 0, 10, x == 1, 20, 30)
    with np.errstate(all="ignore"):
        for at, expected in ((0, 10), (1, 20), (2, 30), (3, 30), (-1, 30)):
            env = {"x": np.asarray(at, np.int32)}
            found = Formula((picked, chained)).values(env, lambda call, where: where[0])
            assert [int(v) for v in found] == [expected, expected]


@given(st.integers(0, 31), st.integers(0, 30), st.integers(-(1 << 31), (1 << 31) - 1))
def test_coordinates_are_arithmetic(by: int, bits: int, number: int) -> None:
    x = Variable(Int32, "x")
    env = {"x": np.asarray(number, np.int32)}
    exprs = [x << by, x >> by, x & ((1 << bits) - 1)]
    plain = [arithmetic(e) for e in exprs]
    with np.errstate(all="ignore"):
        found = Formula(tuple(plain)).values(env, lambda call, at: at[0])
    assert [int(v) for v in found] == [
        Int32.wrap(number << by), number >> by, number & ((1 << bits) - 1),
    ]  # fmt: skip
    if by < 31:
        assert {n.name for e in plain for n in walk(e) if isinstance(n, Op)} <= {
            "mul",
            "div",
            "mod",
        }


def test_definitions_leave_known_operators() -> None:
    x, y = constant(3, UInt8), Variable(UInt8, "y")
    whole = fixed.lerp(fixed.saturating_add(x, y), fixed.halving_sub(~x, y), fixed.absd(x, y))
    names = {n.name for n in walk(expanded(whole)) if isinstance(n, Op)}
    assert names <= set(OPERATORS)
    assert not names & set(DERIVED)


def test_a_number_that_does_not_fit_is_refused_in_a_sentence() -> None:
    signed, unsigned = Variable(Int32, "s"), Variable(Type("uint", 32), "u")
    wide = Variable(Type("int", 64), "w")
    with pytest.raises(TypeError, match="needs both signed or both unsigned"):
        signed & unsigned
    with pytest.raises(TypeError, match="only integers are shifted"):
        signed << constant(1.0, Float32)
    with pytest.raises(TypeError, match="at most 32 bits"):
        fixed.widening_mul(wide, wide)
    with pytest.raises(TypeError, match="cast them"):
        fixed.lerp(signed, unsigned, 0.5)
    with pytest.raises(ValueError, match="not between 0 and 1"):
        fixed.lerp(signed, signed, 1.5)
    with pytest.raises(TypeError, match="the last condition has no value"):
        fn.select(signed > 1, 1, signed > 2, 3)
