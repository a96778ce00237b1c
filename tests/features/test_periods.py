"""A value rises by `rise` whenever its variable moves by `length`."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces.features.periods import Period, period
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from tests.draw_counts import examples

Y, TILE = Variable(Int32, "y"), Variable(Int32, "tile")


def _number(value: int) -> Expr:
    return constant(value, Int32)


_OPERANDS = st.one_of(st.just(Y), st.integers(-9, 9).map(_number))


def _larger(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    small = st.integers(1, 8).map(_number)
    return st.one_of(
        st.tuples(parts, parts).map(lambda pair: pair[0] + pair[1]),
        st.tuples(parts, parts).map(lambda pair: pair[0] - pair[1]),
        st.tuples(parts, st.integers(-6, 6)).map(lambda pair: pair[0] * pair[1]),
        st.tuples(parts, small).map(lambda pair: pair[0] / pair[1]),
        st.tuples(parts, small).map(lambda pair: pair[0] % pair[1]),
    )


@settings(max_examples=examples(300), deadline=None)
@given(st.recursive(_OPERANDS, _larger, max_leaves=6))
def test_a_value_rises_by_its_period(value: Expr) -> None:
    found = period(value, "y")
    assume(found.length <= 4000)
    assert found.rise is not None
    for y in range(-20, 20):
        now, later = (evaluate(value, {"y": at}) for at in (y, y + found.length))
        assert later - now == found.rise, (y, found)


@pytest.mark.parametrize("step", [1, 4, 6, 8, 16, 24, 48])
def test_periods_are_as_short_as_can_be(step: int) -> None:
    """A tile of 8 lines begins at the same place of 16 lines after two tiles, not after 16."""
    assert period((Y * step + 3) / 16, "y").length == 16 // math.gcd(step, 16)


def test_tiles_of_any_size_may_have_the_longest_period() -> None:
    assert period((TILE * Y + 3) / 16, "y") == Period(16, None)
    assert period((TILE * Y / 2 + 3) / 4, "y") == Period(8, None)


def test_values_within_a_limit_count() -> None:
    assert period(fn.min(Y * 8, TILE) / 16, "y") == Period(2, 1)
    assert period((fn.min(Y * 8, TILE) - fn.max(Y * 4, TILE)) / 16, "y").length == 4


def test_products_of_moving_values_have_no_rise() -> None:
    assert period(Y * Y / 4, "y") == Period(1, 0)
    assert period(TILE + 3, "y") == Period(1, 0)
