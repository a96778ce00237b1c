"""Sums in memory that a guard cuts off wait for their last term."""

from __future__ import annotations

import pytest

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of

X, Y = Var("x"), Var("y")
ROWS, TERMS = 64, 9
WAITS = ROWS * TERMS


def waits(width: int, tail: str, order: str, rows: int = ROWS) -> float:
    """How many terms wait, if rows of some width add up terms."""
    image, out, r = ImageParam(Int32, 3, "image"), Func("out"), RDom([(0, TERMS)], "r")
    out[X, Y] += image[X, r, Y]
    pipe = pipeline(out, estimates={out: [width, rows]})
    text = f"out.update().split(x, xo, xi, 16, TailStrategy::{tail}).vectorize(xi).reorder({order})"
    return cost_of(pipe, parse_schedule(text, pipe), masked=1.0)


OUTSIDE = "xi, xo, r.x, y"
"""The loop over the terms goes around the row: each term is stored."""


@pytest.mark.parametrize("width", [24, 40])
def test_the_last_vector_of_a_row_waits_at_each_term(width: int) -> None:
    assert waits(width, "GuardWithIf", OUTSIDE) == pytest.approx(WAITS)


def test_whole_vectors_do_not_wait() -> None:
    assert waits(32, "GuardWithIf", OUTSIDE) == 0
    assert waits(24, "RoundUp", OUTSIDE) == 0


def test_a_register_keeps_the_sum_of_a_loop_inside() -> None:
    """Only its last term is stored. A row of one vector needs no loop around the terms."""
    assert waits(24, "GuardWithIf", "xi, r.x, xo, y") == pytest.approx(ROWS)
    assert waits(8, "GuardWithIf", OUTSIDE) == pytest.approx(ROWS)


def test_a_vector_that_was_stored_long_ago_is_there() -> None:
    assert waits(24, "GuardWithIf", "xi, xo, y, r.x") == 0
    assert waits(16 * 17 + 8, "GuardWithIf", OUTSIDE) == 0
    few = 4  # with two vectors each, and one of these is cut off
    assert waits(24, "GuardWithIf", "xi, xo, y, r.x", few) == pytest.approx(few * TERMS)
