"""The divisions that find the Vars of fused loops."""

from __future__ import annotations

import pytest

from spaces.cost.cpu.prices import Prices
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8, UInt16
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of
from tests.cpus import ONE_CORE

X, Y = Var("x"), Var("y")
WIDTH, HEIGHT = 96, 64
BY_LITERAL = 6
"""A multiplication and shifts for the quotient, a multiplication and a subtraction for the rest."""


def _copy() -> Pipeline:
    image, out = ImageParam(UInt16, 2, "input"), Func("out")
    out[X, Y] = image[X, Y]
    return pipeline(out, estimates={out: [WIDTH, HEIGHT]})


def _histogram(whole_image: bool) -> Pipeline:
    image, bins = ImageParam(UInt8, 2, "image"), Func("bins")
    sizes = (image.width(), image.height()) if whole_image else (WIDTH, HEIGHT)
    w = RDom([(0, extent) for extent in sizes], "w")
    bins[X] = 0
    bins[cast(Int32, image[w.x, w.y])] += 1
    return pipeline(bins, estimates={bins: [256], image: [WIDTH, HEIGHT]})


def _more(pipe: Pipeline, text: str, plain: str = "", **prices: float) -> float:
    """What a schedule costs more than another one."""
    return cost_of(pipe, parse_schedule(text, pipe), **prices) - cost_of(
        pipe, parse_schedule(plain, pipe), **prices
    )


@pytest.mark.parametrize(
    ("text", "plain", "times"),
    [
        ("out.fuse(x, y, t)", "", WIDTH * HEIGHT),
        ("out.fuse(x, y, t).parallel(t)", "", WIDTH * HEIGHT),
        # The tile of a split counts up by itself; a loop inside a fused one, too.
        ("out.fuse(x, y, t).split(t, t, ti, 8)", "", WIDTH * HEIGHT),
        (
            "out.split(x, x, xi, 8).fuse(x, y, t)",
            "out.split(x, x, xi, 8)",
            WIDTH // 8 * HEIGHT,
        ),
        # No vector instruction divides integers.
        ("out.fuse(x, y, t).split(t, t, ti, 8).vectorize(ti)", "", WIDTH * HEIGHT),
        ("out.split(y, y, yi, 2).fuse(x, yi, t).fuse(t, y, t)", "", 2 * WIDTH * HEIGHT),
    ],
)
def test_each_iteration_of_a_fused_loop_divides_once(text: str, plain: str, times: int) -> None:
    assert _more(_copy(), text, plain, division=1.0) == times


def test_a_division_by_a_literal_is_a_few_instructions() -> None:
    known, unknown = _histogram(whole_image=False), _histogram(whole_image=True)
    text = "bins.update(0).fuse(w.x, w.y, t)"
    assert _more(known, text, division=1.0) == 0
    assert _more(known, text, instruction=1.0) == BY_LITERAL * WIDTH * HEIGHT
    assert _more(unknown, text, division=1.0) == WIDTH * HEIGHT
    assert _more(unknown, text, instruction=1.0) == 0


def test_vectors_share_the_instructions_of_a_division_by_a_literal() -> None:
    pipe = _copy()
    text = "out.bound(x, 0, 96).fuse(x, y, t).split(t, t, ti, 8).vectorize(ti)"
    assert _more(pipe, text, text.replace(".vectorize(ti)", ""), division=1.0) == 0
    plain = "out.bound(x, 0, 96).split(x, x, xi, 8).vectorize(xi)"
    vectors = WIDTH * HEIGHT / 8 * max(1, 8 * 32 / ONE_CORE.vector_bits)
    assert _more(pipe, text, plain, instruction=1.0) == BY_LITERAL * vectors


def test_a_nest_is_cheaper_than_its_fused_loop() -> None:
    """By the usual prices, whatever it costs to enter the inner loop."""
    prices = {"instruction": Prices().instruction, "division": Prices().division}
    for whole_image in (False, True):
        pipe = _histogram(whole_image)
        text = "bins.update(0).fuse(w.x, w.y, t)"
        usual = {**prices, "visit": Prices().visit, "iteration": Prices().iteration}
        assert _more(pipe, text, **usual) > 0
