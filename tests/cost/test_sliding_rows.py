"""The values of windows that slide along rows."""

from __future__ import annotations

import pytest

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of

X, Y = Var("x"), Var("y")
ACROSS, DOWN = (2, 0), (0, 2)


@pytest.mark.parametrize(
    ("offset", "level", "values"),
    [
        # Each value of a row of 130 once, in each of 64 rows.
        (ACROSS, "compute_at(out, xo).store_at(out, y)", 130 * 64),
        (ACROSS, "compute_at(out, xo).store_at(out, y).reorder_storage(y, x)", 0),
        (ACROSS, "compute_at(out, xo)", 0),
        (ACROSS, "compute_at(out, y)", 0),
        (ACROSS, "compute_root()", 0),
        (DOWN, "compute_at(out, y).store_root()", 0),
        (DOWN, "compute_at(out, y).store_root().reorder_storage(y, x)", 128 * 66),
    ],
)
def test_values_cost_more_where_a_window_slides_along_rows(
    offset: tuple[int, int], level: str, values: int
) -> None:
    image, f, out = ImageParam(Float32, 2, "input"), Func("f"), Func("out")
    f[X, Y] = image[X, Y]
    out[X, Y] = f[X, Y] + f[X + offset[0], Y + offset[1]]
    pipe = pipeline(out, estimates={out: [128, 64]})
    chosen = parse_schedule(f"out.split(x, xo, xi, 16).vectorize(xi)\nf.{level}", pipe)
    assert cost_of(pipe, chosen, slide=3.0) == pytest.approx(3.0 * values, rel=0.05)
