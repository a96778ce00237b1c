"""What Python, NumPy, formulas and recorded numbers spell differently gives the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.model.expressions.expr import Variable, cast
from spaces.model.expressions.types import Int32, Int64
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.recorded import Recorded
from spaces.model.formulas.symbolic import (
    as_array,
    as_formula,
    ceil,
    logical_not,
    maximum,
    minimum,
    where,
)

NUMBERS = st.integers(-1000, 1000)
A, B = Variable(Int32, "a"), Variable(Int32, "b")


@pytest.mark.parametrize(("extreme", "expected"), [(maximum, max), (minimum, min)])
@given(a=NUMBERS, b=NUMBERS)
def test_extremes_agree(extreme, expected, a: int, b: int) -> None:
    assert extreme(a, b) == expected(a, b)
    for first, second in ((A, B), (A, b), (a, B)):
        assert evaluate(extreme(first, second), {"a": a, "b": b}) == expected(a, b)
    for first, second in ((np.array([a, b]), b), (a, np.array([a, b]))):
        assert extreme(first, second).tolist() == [
            expected(x, y)
            for x, y in zip(np.broadcast_to(first, 2), np.broadcast_to(second, 2), strict=True)
        ]
    for first, second in ((Recorded(cast(Int64, A)), b), (a, Recorded(cast(Int64, B)))):
        assert evaluate(extreme(first, second).expr, {"a": a, "b": b}) == expected(a, b)


@given(a=NUMBERS, b=NUMBERS, limit=NUMBERS)
def test_choices_agree(a: int, b: int, limit: int) -> None:
    expected = a if a < limit else b
    assert where(a < limit, a, b) == expected
    assert where(logical_not(a < limit), b, a) == expected
    formulas = (where(A < limit, A, b), where(logical_not(A < limit), b, A))
    assert [evaluate(one, {"a": a}) for one in formulas] == [expected, expected]
    array = np.array([a])
    assert where(array < limit, array, b).tolist() == [expected]
    assert where(logical_not(array < limit), b, array).tolist() == [expected]


def test_numbers_of_python_stay_such() -> None:
    assert type(maximum(2, 1.5)) is int
    assert type(where(True, 2, np.array([1]))) is int
    assert type(ceil(1.5)) is int
    assert ceil(np.array([1.5, 2.0])).tolist() == [2, 2]


def test_formulas_take_no_arrays() -> None:
    with pytest.raises(TypeError, match="ndarray"):
        maximum(A, np.array([1]))
    assert as_formula(A) is A
    assert evaluate(as_formula(3), {}) == 3
    assert int(as_array(3)) == 3
