"""Ranges of bitwise operators: the result for any two numbers in range lies between the ends."""

from __future__ import annotations

import operator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import Expr, Float32, Int32, Int64, UInt32, UInt64, cast, reinterpret
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Cast, Op, Variable, constant, walk
from spaces.model.formulas.algebra import INTEGERS, evaluate, read
from spaces.model.formulas.corners import CORNERS
from spaces.model.formulas.interval import UNBOUNDED, Interval
from spaces.model.formulas.narrowing import narrowed
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from tests.draw_counts import examples

A, B = Variable(Int32, "a"), Variable(Int32, "b")
OPERATORS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}
ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.floordiv,
    "mod": lambda a, b: a % abs(b) if b else 0,
    "min": min,
    "max": max,
}
ENDS = st.tuples(st.integers(-20, 20), st.integers(0, 9)).map(lambda p: (p[0], sum(p)))


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(OPERATORS)), ENDS, ENDS)
def test_numbers_stay_between_the_ends(name: str, a: tuple[int, int], b: tuple[int, int]) -> None:
    low, high = CORNERS[name](Int32, a, b)
    numbers = [range(first, last + 1) for first, last in (a, b)]
    found = [OPERATORS[name](x, y) for x, y in product(*numbers)]
    assert low <= min(found)
    assert max(found) <= high


@pytest.mark.parametrize("name", sorted(ARITHMETIC))
def test_numbers_of_arithmetic_reach_the_ends(name: str) -> None:
    """Numbers of both signs, also as divisors. Only the ends of a remainder may lie further out."""
    ranges = [(low, high) for low in range(-3, 4) for high in range(low, 4)]
    for a, b in product(ranges, ranges):
        ends = CORNERS[name](Int32, a, b)
        if ends is None:
            assert name == "div"
            assert b[0] <= 0
            continue
        numbers = [range(first, last + 1) for first, last in (a, b)]
        found = [ARITHMETIC[name](x, y) for x, y in product(*numbers)]
        assert ends[0] <= min(found)
        assert max(found) <= ends[1]
        if name != "mod":
            assert ends == (min(found), max(found))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_ranges_without_numbers_have_an_answer(name: str) -> None:
    """The ends of an empty domain are 0 and -1, so its numbers look negative and not negative."""
    empty = Interval(constant(0, Int32), constant(-1, Int32))
    for other in (empty, UNBOUNDED):
        ranges = Ranges(Simplifier(), {"a": empty, "b": other})
        assert isinstance(ranges.of(OPERATORS[name](A, B)), Interval)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(OPERATORS)), ENDS, ENDS, st.booleans(), st.booleans())
def test_formulas_stay_between_the_ends(
    name: str, a: tuple[int, int], b: tuple[int, int], is_open: bool, is_fixed: bool
) -> None:
    """Ends are variables, with or without known limits."""
    simplify, values, ranges = Simplifier(), dict[str, int](), dict[str, Interval]()
    for variable, (low, high) in ((A, a), (B, b)):
        ends = [Variable(Int32, f"{variable.name}.{end}") for end in ("low", "high")]
        values |= {ends[0].name: low, ends[1].name: high}
        if not is_open:
            for end, value in zip(ends, (low, high), strict=True):
                is_plain = value >= 0
                zero, all = constant(0, Int32), constant(-1, Int32)
                simplify.assume(end.name, zero if is_plain else None, None if is_plain else all)
        ranges[variable.name] = Interval(*ends)
    second = constant(b[0], Int32) if is_fixed else B
    found = Ranges(simplify, ranges).of(OPERATORS[name](A, second))
    numbers = [range(a[0], a[1] + 1), range(b[0], (b[0] if is_fixed else b[1]) + 1)]
    reached = [OPERATORS[name](x, y) for x, y in product(*numbers)]
    assert found.min is not None
    assert found.max is not None
    assert evaluate(found.min, values) <= min(reached)
    assert max(reached) <= evaluate(found.max, values)


@settings(max_examples=examples(100), deadline=None)
@given(ENDS, ENDS, st.sampled_from(["div", "mod"]))
def test_quotients_and_remainders_by_any_number(
    a: tuple[int, int], b: tuple[int, int], name: str
) -> None:
    names = [("a", a), ("b", b)]
    ends = {f"{n}.{end}": v for n, pair in names for end, v in zip("lh", pair, strict=True)}
    ranges = {n: Interval(*(Variable(Int32, f"{n}.{end}") for end in "lh")) for n, _ in names}
    found = Ranges(Simplifier(), ranges).of(A / B if name == "div" else A % B)
    apply = INTEGERS.operators[name]
    reached = [apply(x, y) for x, y in product(*(range(p[0], p[1] + 1) for p in (a, b)))]
    assert found.min is not None
    assert found.max is not None
    assert evaluate(found.min, ends) <= min(reached)
    assert max(reached) <= evaluate(found.max, ends)


def wide(value: Expr) -> Expr:
    return cast(Int64, value)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_a_wider_computation_that_fits_int32_is_the_same_number(a: int, b: int) -> None:
    average = cast(Int32, (wide(A) + wide(B) + 1) >> 1)
    plain = narrowed(average)
    assert plain is not None
    assert read(plain, {"a": a, "b": b}, INTEGERS) == (a + b + 1) // 2


NUMBERS = st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9)


@pytest.mark.parametrize(
    "value",
    [
        wide(A) * 2,
        wide(A) + 3,
        wide(A) * wide(B) * wide(A),
        cast(UInt32, A),
        cast(UInt32, A) * cast(UInt32, B) - 7,
        cast(UInt64, A) + constant(2**32 + 5, UInt64),
        cast(Int64, cast(UInt32, A)) + wide(B),
        reinterpret(UInt32, A) + 1,
    ],
)
@given(a=NUMBERS, b=NUMBERS)
def test_sums_and_products_are_the_same_where_they_wrap(value: Expr, a: int, b: int) -> None:
    plain = narrowed(Cast(Int32, value))
    assert plain is not None
    assert all(part.type == Int32 for part in walk(plain))
    numbers = {"a": a, "b": b}
    assert Int32.wrap(evaluate(plain, numbers)) == Int32.wrap(evaluate(value, numbers))


@pytest.mark.parametrize(
    "value",
    [
        (wide(A) + 1) >> 40,
        cast(UInt32, A) / 2,
        wide(A) * wide(B) / 3,
        cast(Float32, A),
        -wide(A) % 5,
        fn.max(wide(A) * 3, 0),
    ],
)
def test_a_computation_that_may_wrap_stays(value: Expr) -> None:
    fits = isinstance(value, Op) and value.name == "mod"
    assert (narrowed(Cast(Int32, value)) is not None) == fits
