"""Which conditions are on coordinates."""

from __future__ import annotations

from spaces import Expr, Float32, Int32, cast
from spaces.backend.lowering.analyses.conditions import is_coordinate
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Variable

X = Variable(Int32, "x")


def halved(start: Expr, times: int) -> Expr:
    """Each part has the part before it twice, so that a tree would have two to the power of
    ``times``.
    """
    for _ in range(times):
        start = start / 2 + start % 2
    return start


def test_parts_of_parts_are_looked_at_once() -> None:
    """More looks than a lifetime has seconds would not end."""
    assert is_coordinate(halved(X, 200))
    assert not is_coordinate(halved(Call(Int32, "f", (X,)), 200))


def test_coordinates_are_arithmetic_of_32_bits() -> None:
    assert is_coordinate(fn.select(cast(Float32, X) > 0.5, X, X + 1))  # the values decide
    assert not is_coordinate(cast(Float32, X))
    assert not is_coordinate(fn.select(X > 0, X, cast(Int32, cast(Float32, X))))
