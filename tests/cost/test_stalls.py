"""Loads that wait for the stores just before them."""

from __future__ import annotations

import pytest

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of

X, Y = Var("x"), Var("y")
VISITS = 128 * 64 // 16


@pytest.mark.parametrize(
    ("offset", "level", "waits"),
    [
        ((1, 0), "compute_at(out, xo)", VISITS),
        # A vector that was stored as a whole is there at once.
        ((0, 0), "compute_at(out, xo)", 0),
        ((0, 1), "compute_at(out, xo)", 0),
        ((1, 0), "compute_at(out, y)", 64),
        # The first vectors of a line are in the cache when the last one of many is stored.
        ((400, 0), "compute_at(out, y)", 0),
        ((1, 0), "compute_root()", 0),
    ],
)
def test_loads_across_stored_vectors_wait(offset: tuple[int, int], level: str, waits: int) -> None:
    image, f, out = ImageParam(Float32, 2, "input"), Func("f"), Func("out")
    f[X, Y] = image[X, Y]
    out[X, Y] = f[X, Y] + f[X + offset[0], Y + offset[1]]
    pipe = pipeline(out, estimates={out: [128, 64]})
    lanes = "split(x, xo, xi, 16).vectorize(xi)"
    chosen = parse_schedule(f"out.{lanes}\nf.{level}.{lanes}", pipe)
    assert cost_of(pipe, chosen, stall=1.0) == waits


def test_terms_that_move_along_the_lanes_wait() -> None:
    image, f, out, r = ImageParam(Float32, 2, "input"), Func("f"), Func("out"), RDom([(0, 3)], "r")
    f[X, Y] = image[X, Y]
    out[X, Y] = 0.0
    out[X, Y] += f[X + r.x, Y]
    pipe = pipeline(out, estimates={out: [128, 64]})
    lanes = "split(x, xo, xi, 16).vectorize(xi)"
    chosen = parse_schedule(
        f"out.{lanes}\nout.update().{lanes}.reorder(xi, r.x, xo, y)\nf.compute_at(out, xo).{lanes}",
        pipe,
    )
    assert cost_of(pipe, chosen, stall=1.0) == VISITS
