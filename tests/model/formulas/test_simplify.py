"""Simplification keeps values, cancels equal terms, and proves only true claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, cast, constant
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import ARRAYS, evaluate, read
from spaces.model.formulas.monotone import never_decreases, never_increases
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.simplify import Simplifier
from tests.draw_counts import every, examples

A, B, T = Variable(Int32, "a"), Variable(Int32, "b"), Variable(Int32, "t")
E = Variable(Int32, "out.extent.0")


@st.composite
def integer_expressions(draw: st.DrawFn, depth: int = 4) -> Expr:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(
            st.one_of(
                st.sampled_from([A, B, T, E]), st.integers(-9, 9).map(lambda v: constant(v, Int32))
            )
        )
    left = draw(integer_expressions(depth - 1))
    right = draw(integer_expressions(depth - 1))
    form = draw(st.sampled_from(["add", "sub", "mul", "div", "mod", "min", "max", "select"]))
    if form == "select":
        other = draw(integer_expressions(depth - 1))
        comparison = draw(st.sampled_from([left < right, left == right, left >= right]))
        return fn.select(comparison, other, right)
    return Op(Int32, form, (left, right))


VALUES = st.fixed_dictionaries(
    {
        "a": st.integers(-20, 20),
        "b": st.integers(2, 7),
        "t": st.integers(1, 12),
        "out.extent.0": st.integers(1, 50),
    }
)


def informed() -> Simplifier:
    """A simplifier with the limits of VALUES: b in 2..7, t at least 1."""
    simplify = Simplifier()
    simplify.assume("b", constant(2, Int32), constant(7, Int32))
    simplify.assume("t", constant(1, Int32), None)
    return simplify


@settings(max_examples=examples(120))
@given(integer_expressions(), VALUES)
def test_value_is_kept(expr: Expr, values: dict[str, int]) -> None:
    assert evaluate(informed()(expr), values) == evaluate(expr, values)


def test_shifts_keep_their_value() -> None:
    """Also by the width of a number and one less, where two to this power is no int32."""
    for amount, sign in product(range(-33, 34), (1, -1)):
        name = "shift_left" if sign == 1 else "shift_right"
        form = Simplifier()(Op(Int32, name, (A, constant(sign * amount, Int32))))
        for value in (-(2**31), -3, -1, 0, 1, 5, 2**31 - 1):
            wanted = value << amount if amount >= 0 else value >> -amount
            if Int32.holds(wanted):
                assert evaluate(form, {"a": value}) == wanted


@given(integer_expressions(), VALUES)
def test_simplifying_twice_changes_nothing_of_the_value(expr: Expr, values: dict[str, int]) -> None:
    once = informed()(expr)
    assert evaluate(informed()(once), values) == evaluate(expr, values)


@settings(max_examples=examples(120))
@given(integer_expressions(depth=3), VALUES)
def test_lower_limit_is_never_exceeded_downwards(expr: Expr, values: dict[str, int]) -> None:
    simplify = informed()
    low = simplify.lower(simplify.polynomial(expr))
    assert low is None or low <= evaluate(expr, values)


@settings(max_examples=examples(120))
@given(integer_expressions(depth=3), VALUES)
def test_growth_claims_hold(expr: Expr, values: dict[str, int]) -> None:
    if never_decreases(expr, A, informed()):
        later = {**values, "a": values["a"] + 1}
        assert evaluate(expr, values) <= evaluate(expr, later)
    if never_increases(expr, A, informed()):
        later = {**values, "a": values["a"] + 1}
        assert evaluate(expr, values) >= evaluate(expr, later)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((A * 8 + 7 + 1) - (A * 8 - 1) + 1, "10"),
        (fn.min(A * 8, E - 8) + 7 - (fn.min(A * 8, E - 8) - 1) + 1, "9"),
        (fn.min(A + 1, B + 1) - fn.min(A, B), "1"),
        (fn.max(T, 1), "t"),
        (fn.min(B, 9), "b"),
        ((E / 2 + 1) / 2, "(out.extent.0 + 2) / 4"),
        ((E + 7) / 8 * 8 >= E, "true"),
        ((A * T + T) / T, "a + 1"),
        (B / 8, "0"),
        (B % 8, "b"),
        (fn.select(B < 9, A, T), "a"),
        (fn.min(A / 2, A / 2 - 1 + A % 2 * 2), "(a + 1) / 2 - 1"),
        (fn.max(A / 2, A / 2 - 1 + A % 2 * 2), "(a + 1) / 2"),
        (fn.max(A % 2, 1 - A % 2), "1"),
        (fn.max(A % 2 * 3, 2), "a % 2 + 2"),
        (fn.select(A == 0, T * 2, A * 4 + 6) / 2, "select(a == 0, t, a * 2 + 3)"),
        (fn.select(A == 0, 2, 6) % 4, "2"),
        # The row and the column of the last point of a fused loop.
        (((A + 3) * (T * 2 + 1) - 1) / (T * 2 + 1), "a + 2"),
        (((A + 3) * (T * 2 + 1) - 1) % (T * 2 + 1), "t * 2"),
        (
            fn.min(fn.select(A == 0, T, B) - 1, fn.select(A == 0, T + 2, 1) - 1),
            "select(a == 0, t - 1, 0)",
        ),
    ],
)
def test_equal_terms_cancel(expr: Expr, text: str) -> None:
    assert str(informed()(expr)) == text


def small_expressions() -> Iterator[Expr]:
    """Quotients, remainders, extremes and comparisons of b at their boundaries."""
    for k, c in product(range(-9, 10), range(1, 10)):
        for base in (B + k, k - B, B * 3 + k):
            yield from (base / c, base % c, (base / c + k) / 2, (base / c) % 3, fn.min(base, c))
            yield from (fn.min(base % 2 * 3 + base / 2, c - base % 2 + base / 2),)
            yield from (fn.max(base % 2 * c, k) + base / 2 * 2,)
            over = T * c + k * k
            yield from (((base + 9) * over - k) / over, ((base + 9) * over + T) % over)
            turns = [fn.select(B == 3, base * n + c, n) for n in (2, 4)]
            yield from (turns[0] / 2, fn.min(*turns), fn.max(turns[0] + k, turns[1] * c) % 4)
            yield from (fn.max(base, c), fn.select(base < c, 0, 1), fn.select(base <= c, 0, 1))
            yield from (fn.select(base > c, 0, 1), fn.select(base >= c, 0, 1))
            yield from (fn.select(base == c, 0, 1), fn.select(base != c, 0, 1))


def test_all_values_of_a_small_range_are_kept_and_limited() -> None:
    simplify = informed()
    values = dict(zip("bt", np.ix_(np.arange(2, 8), np.arange(1, 4)), strict=True))
    for expr in islice(small_expressions(), 0, None, every(1)):
        simple, low = simplify(expr), simplify.lower(simplify.polynomial(expr))
        wanted = read(expr, values, ARRAYS)
        assert np.all(read(simple, values, ARRAYS) == wanted), expr
        assert low is None or low <= np.min(wanted), expr


def test_quotients_are_ordered_with_their_summands() -> None:
    simplify = informed()
    low = fn.min(E - 2, A * 2)
    assert simplify.at_most((B + low) / 2, B / 2 + A)
    assert not simplify.at_most((B + low + 1) / 2, B / 2 + A)
    assert simplify.at_most((B + low + 1) / 2, B / 2 + A + 1)


def test_no_tile_is_beyond_the_last() -> None:
    simplify = Simplifier()
    for variable, last in ((A, E + 21), (B, E * 2 + 7)):
        simplify.assume(variable.name, constant(0, Int32), last)
    columns = (E * 2 + 7) / 16
    tile = A / 32 * (columns + 1) + B / 16
    assert simplify.at_most(tile, (E + 21) / 32 * (columns + 1) + columns)
    assert not simplify.at_most(tile, (E + 20) / 32 * (columns + 1) + columns)
    assert not simplify.at_most(tile + 1, (E + 21) / 32 * (columns + 1) + columns)


def test_a_first_iteration_that_differs_grows_only_where_it_is_not_above_the_second() -> None:
    claims = falls = 0
    for c in range(-4, 5):
        for later in (A + c, A * 2 + c, c - A, fn.min(A, 4)):
            for first in (A - 2, A + 3, A * 3, constant(5, Int32), 9 - A):
                expr = fn.select(A == 2, first, later)
                values = [evaluate(expr, {"a": a}) for a in range(2, 10)]
                if never_decreases(expr, A, Simplifier()):
                    claims += 1
                    assert values == sorted(values), expr
                if never_increases(expr, A, Simplifier()):
                    falls += 1
                    assert values == sorted(values, reverse=True), expr
    assert claims > 20
    assert falls > 5


def test_at_most_is_believed_only_where_it_holds() -> None:
    simplify = informed()
    for k in range(-9, 10):
        assert simplify.at_most(B, constant(k, Int32)) is (k >= 7)
        assert simplify.at_most(constant(k, Int32), B) is (k <= 2)
        assert simplify.at_most(A + k, A) is (k <= 0)
        assert simplify.at_most(T * B + k, T * B) is (k <= 0)


def test_equal_sums_have_one_normal_form() -> None:
    simplify = Simplifier()
    assert simplify(fn.min(A, B) * 2 + A - 3) is simplify(A + fn.min(B, A) + fn.min(A, B) - 3)


def test_ranges_that_refer_to_other_variables_are_used() -> None:
    simplify = Simplifier()
    simplify.assume("t", constant(1, Int32), None)
    simplify.assume("a", constant(0, Int32), T - 1)
    assert simplify(A < T) is constant(True, simplify(A < T).type)
    assert simplify((B * T + A) / T) is B


def test_a_new_assumption_is_seen() -> None:
    simplify = Simplifier()
    assert simplify.lower(Polynomial.of(A)) is None
    simplify.assume("a", constant(3, Int32), None)
    assert simplify.lower(Polynomial.of(A)) == 3


def test_size_may_be_tested_against_zero() -> None:
    result = Simplifier()(E > 0)
    assert isinstance(result, Const)
    assert result.value == 1


def test_quotients_just_below_a_multiple() -> None:
    simplify = Simplifier()
    assert simplify((B * E - 1) / E) is simplify(B - 1)
    assert simplify((B * E - 1) % E) is simplify(E - 1)


def test_neighbors_at_half_the_resolution_are_ordered() -> None:
    simplify = Simplifier()
    assert simplify(fn.min(A / 2, (A + 1) / 2)) is simplify(A / 2)
    assert simplify(fn.max((A + 1) / 2, A / 2 + 1)) is simplify(A / 2 + 1)
    assert simplify.lower(simplify.polynomial((A + 5) / 3 - A / 3)) == 1
    assert simplify.lower(simplify.polynomial(A / 3 - (A + 5) / 3)) == -2


def test_clamped_neighbors_stay_neighbors() -> None:
    simplify = Simplifier()
    above, below = (fn.max(fn.min(A + d, 39), 0) for d in (-1, 1))
    assert simplify.lower(simplify.polynomial(above - below)) == -2
    assert simplify.lower(simplify.polynomial(below - above)) == 0


@settings(max_examples=examples(120))
@given(
    st.lists(integer_expressions(depth=1), min_size=2, max_size=7),
    st.lists(integer_expressions(depth=1), min_size=2, max_size=7),
    st.sampled_from([fn.min, fn.max]),
    st.integers(-3, 3),
    VALUES,
)
def test_extremes_of_many_keep_their_value_and_order(
    first: list[Expr],
    second: list[Expr],
    pick: Callable[..., Expr],
    apart: int,
    values: dict[str, int],
) -> None:
    """A true claim may stay unproven; a proven claim is always true."""
    a, b = pick(*first) + apart, pick(*second)
    simplify = informed()
    for expr in (a, pick(a, b), pick(b, *first), a - b):
        assert evaluate(simplify(expr), values) == evaluate(expr, values)
        low = simplify.lower(simplify.polynomial(expr))
        assert low is None or low <= evaluate(expr, values)
    if simplify.at_most(a, b):
        assert evaluate(a, values) <= evaluate(b, values)


def test_an_inner_simplifier_has_its_own_limits() -> None:
    """Inside, the variable has its own limits; everything else is as outside."""
    outside = informed()
    inside = outside.inside("a", constant(0, Int32), B - 1)
    assert str(inside(fn.min(A, B))) == "a"
    assert str(inside(A / B)) == "0"
    assert str(outside(fn.min(A, B))) == str(fn.min(A, B))
    assert str(inside(B % 8 + fn.max(T, 1))) == "b + t"
    assert inside.inside("a", constant(3, Int32), None).at_most(constant(3, Int32), A)


def test_a_limit_of_one_operand_is_no_limit_of_the_extreme() -> None:
    """The claim fails only at t = 37; the assignments that the simplifier tries rarely have it."""
    other = fn.select(T == 37, 0, T)
    for pick in (fn.min, fn.max):
        assert not informed().at_most(pick(A, T), pick(A, other))
        assert informed().at_most(pick(A, T), pick(T, A + 1))


def test_an_extreme_of_many_is_in_normal_form_wherever_it_stands() -> None:
    def settled() -> Simplifier:
        simplify = Simplifier()
        simplify.fix_value("a", constant(3, Int32))
        return simplify

    many = fn.max(fn.max(A, B), T)
    for around in (many, many < E, cast(UInt8, many), cast(Float32, many) + 1.0):
        assert "a" not in settled()(around).names
    other = fn.max(fn.max(3, T), B)
    assert settled()(Call(Int32, "f", (many,))) is settled()(Call(Int32, "f", (other,)))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (fn.min(A + (2**31 - 1), B - 5), "min(b - 5, a + 2147483647)"),
        (fn.max(A - (2**31 - 1), B + 9), "max(a - 2147483647, b + 9)"),
        (fn.min(A + (2**31 - 6), B - 5), "min(b, a + 2147483647) - 5"),
    ],
    ids=str,
)
def test_numbers_beyond_int32_do_not_arise_in_extremes(expr: Expr, expected: str) -> None:
    """The difference of 5 moves outside only if int32 still holds the rest."""
    assert str(Simplifier()(expr)) == expected


def test_what_is_in_normal_form_stays_as_it_is():
    """Without ``B``, which is not less than the first sum, the others have a common term."""
    simplify = Simplifier()
    simplify.assume("b", A + T, None)
    once = simplify(fn.min(fn.min(A + T, fn.min(Variable(Int32, "c"), 0) + T), B))
    again = Simplifier()
    again.assume("b", A + T, None)
    assert again(once) is once


@pytest.mark.parametrize("times", [1, 4])
def test_windows_at_half_height_have_a_limit(times: int) -> None:
    """Numbers as limits of a variable do not hide that two quotients move together."""
    x = Variable(Int32, "x")
    simplify = Simplifier()
    simplify.assume("x", constant(0, Int32), constant(15, Int32))
    window = (x + 3) / 4 * times - x / 4 * times
    assert simplify.at_most(window, constant(times, Int32))
    assert not simplify.at_most(window, constant(times - 1, Int32))


@given(
    times=st.integers(1, 5),
    divisor=st.integers(1, 6),
    shifts=st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    steps=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
    rest=st.integers(-3, 3),
    size=st.integers(1, 9),
    limited=st.sets(st.sampled_from("xy")),
)
@example(times=2, divisor=2, shifts=(0, 0), steps=(1, 0), rest=-1, size=1, limited=set())
def test_limits_of_quotients_that_move_together_are_sound(
    times: int,
    divisor: int,
    shifts: tuple[int, int],
    steps: tuple[int, int],
    rest: int,
    size: int,
    limited: set[str],
) -> None:
    x, y = Variable(Int32, "x"), Variable(Int32, "y")
    simplify = Simplifier()
    for name in limited:
        simplify.assume(name, constant(0, Int32), constant(size, Int32))
    first, second = (x + step * y + shift for step, shift in zip(steps, shifts, strict=True))
    window = (first / divisor - second / divisor) * times + rest * y
    low = simplify.lower(simplify.polynomial(window))
    places = product(range(size + 1), repeat=2)
    assert low is None or low <= min(evaluate(window, {"x": i, "y": j}) for i, j in places)
