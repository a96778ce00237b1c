"""What formulas mean, by hand."""

from __future__ import annotations

import pytest

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable, cast
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import never_wraps

X, BYTE = Variable(Int32, "x"), Variable(UInt8, "byte")


@pytest.mark.parametrize(
    ("formula", "exact"),
    [
        (X * 3 + fn.min(X, 7), True),
        (X * 3 > fn.abs(X), True),
        (X + cast(Int32, BYTE + BYTE), False),  # the sum of the bytes wraps
        (X + cast(Int32, cast(Float32, X)), False),
    ],
    ids=str,
)
def test_a_formula_wraps_where_one_part_does(formula: Expr, exact: bool) -> None:
    assert never_wraps(formula) is exact
