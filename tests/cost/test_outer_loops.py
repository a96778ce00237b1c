"""The iterations of loops around the innermost one."""

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


@pytest.mark.parametrize(
    ("text", "iterations"),
    [
        ("", 64),
        ("out.vectorize(x)", 0),
        ("out.tile(x, y, xi, yi, 32, 8)", 8 + 8 * 4 + 8 * 4 * 8),
        ("out.tile(x, y, xi, yi, 32, 8).vectorize(xi)", 8 + 8 * 4),
        # Another Func has loops of its own; those of its consumer count once.
        ("near.compute_at(out, y)", 64),
        ("near.compute_root()", 64 + 64),
    ],
)
def test_loops_around_the_innermost_one_count(text: str, iterations: int) -> None:
    image, near, out = ImageParam(Float32, 2, "image"), Func("near"), Func("out")
    near[X, Y] = image[X, Y] + 1.0
    out[X, Y] = near[X, Y] * 2.0
    pipe = pipeline(out, estimates={out: [128, 64]})
    assert cost_of(pipe, parse_schedule(text, pipe), outer_iteration=1.0) == iterations
