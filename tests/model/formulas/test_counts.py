"""Counts of integers in ranges are what the normal forms say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.model.expressions.expr import Const, Expr, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.counts import divides, extent_of, last_of, tiles_of
from spaces.model.formulas.simplify import Simplifier

N = Variable(Int32, "n")
ZERO = constant(0, Int32)
NUMBERS = st.integers(-50, 50) | st.sampled_from([Int32.min_value, Int32.max_value])
ENDS = NUMBERS.map(lambda value: constant(value, Int32)) | st.sampled_from([N, N + 3, N * 2])


@given(ENDS, ENDS)
def test_counts_are_normal_forms(a: Expr, b: Expr) -> None:
    simplify = Simplifier()
    assert extent_of(a, b, simplify) is simplify(b - a + 1)
    assert last_of(a, b, simplify) is simplify(a + b - 1)
    assert tiles_of(a, b, simplify) is simplify((a + b - 1) / b)
    assert divides(a, b, simplify) is (simplify(a % b) is ZERO)


@pytest.mark.parametrize(("extent", "factor", "tiles"), [(10, 4, 3), (8, 4, 2), (0, 4, 0)])
def test_tiles_cover_a_loop(extent: int, factor: int, tiles: int) -> None:
    found = tiles_of(constant(extent, Int32), constant(factor, Int32), Simplifier())
    assert isinstance(found, Const)
    assert found.value == tiles
