"""What loads and operations of a vector cost, by their kind."""

from __future__ import annotations

import pytest
from attrs import evolve

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import Float32, Float64, Int32, Type, UInt8
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of
from tests.cpus import ONE_CORE

X = Var("x")
SIZE = 1024
VECTORS = SIZE / 8
IMAGE = ImageParam(Float32, 1, "image")


def _of(value: Expr) -> Pipeline:
    f = Func("f")
    f[X] = value
    return pipeline(f, estimates={f: [SIZE]})


def _in_lanes(pipe: Pipeline, **prices: float) -> float:
    return cost_of(pipe, schedule(pipe).vectorize("x", 8), **prices)


def test_small_steps_load_the_lines_between() -> None:
    """16 neighbors for 8 lanes: two registers, and half of a line in a second one each."""
    pipe = _of(IMAGE[2 * X])
    assert _in_lanes(pipe, load=1.0, lane=100.0) == 3 * VECTORS
    assert _in_lanes(pipe, shuffle=1.0) == VECTORS


def test_values_between_the_steps_share_their_lines() -> None:
    alone, both = _of(IMAGE[2 * X]), _of(IMAGE[2 * X] + IMAGE[2 * X + 1])
    assert _in_lanes(both, load=1.0) == _in_lanes(alone, load=1.0)
    assert _in_lanes(both, shuffle=1.0) == 2 * _in_lanes(alone, shuffle=1.0)


def test_many_values_between_the_steps_wait_for_their_shuffles() -> None:
    four = _of(IMAGE[4 * X] + IMAGE[4 * X + 1] + IMAGE[4 * X + 2] + IMAGE[4 * X + 3])
    assert _in_lanes(four, load=1.0, shuffle=1.0) == 4 * 3 * VECTORS


def test_long_steps_load_each_lane() -> None:
    assert _in_lanes(_of(IMAGE[5 * X]), load=100.0, lane=1.0) == SIZE


def test_places_that_values_give_are_looked_up_lane_by_lane() -> None:
    table, values = ImageParam(Float32, 1, "table"), ImageParam(UInt8, 1, "values")
    f = Func("f")
    f[X] = table[cast(Int32, values[X])]
    pipe = pipeline(f, estimates={f: [SIZE], table: [256]})
    assert _in_lanes(pipe, lookup=1.0) == SIZE
    assert cost_of(pipe, schedule(pipe), lookup=1.0, load=1.0) == 2 * SIZE


@pytest.mark.parametrize(
    ("type", "price", "each"),
    [
        (Float32, "series", 2),  # a register holds 4 of the doubles in which series are summed
        (Float64, "call", 8),
    ],
)
def test_functions_are_series_of_vectors_or_calls_of_lanes(
    type: Type, price: str, each: int
) -> None:
    pipe = _of(fn.exp(cast(type, IMAGE[X])))
    assert _in_lanes(pipe, **{price: 1.0}) == each * VECTORS
    others = {"series", "call"} - {price}
    assert not _in_lanes(pipe, **dict.fromkeys(others, 1.0))


def test_functions_without_series_call_the_library() -> None:
    assert _in_lanes(_of(fn.atan(IMAGE[X])), call=1.0) == SIZE


def test_quotients_and_roots_of_floats_have_a_price_for_each_register() -> None:
    pipe = _of(fn.sqrt(IMAGE[X] / (IMAGE[X] + 1.5)))
    assert _in_lanes(pipe, fraction=1.0) == 2 * VECTORS
    assert _in_lanes(pipe, instruction=1.0) == VECTORS


def test_units_of_half_a_vector_compute_it_twice() -> None:
    pipe = _of(IMAGE[X] + 1.5)
    chosen = schedule(pipe).vectorize("x", 16)
    wide = evolve(ONE_CORE, vector_bits=512, unit_bits=512)
    halves = evolve(wide, unit_bits=256)
    whole = cost_of(pipe, chosen, wide, instruction=1.0)
    assert cost_of(pipe, chosen, halves, instruction=1.0) == 2 * whole == 2 * SIZE / 16


def test_channels_of_pixels_share_their_dense_vectors() -> None:
    """24 neighbors for 8 pixels of 3 channels: three registers, and half a line more each."""
    image = ImageParam(Float32, 2, "picture")
    for channels in (1, 3):
        f = Func("f")
        f[X] = sum((image[c, X] for c in range(1, channels)), image[0, X])
        pipe = pipeline(f, estimates={image: [3, SIZE], f: [SIZE]})
        assert _in_lanes(pipe, load=1.0, lane=100.0) == 4.5 * VECTORS


def test_pixels_of_many_channels_are_loaded_lane_by_lane() -> None:
    image, f = ImageParam(Float32, 2, "picture"), Func("f")
    f[X] = image[0, X]
    pipe = pipeline(f, estimates={image: [5, SIZE], f: [SIZE]})
    assert _in_lanes(pipe, load=100.0, lane=1.0) == SIZE


def test_channels_that_are_written_out_are_woven() -> None:
    image, f, c = ImageParam(Float32, 1, "image"), Func("f"), Var("c")
    f[c, X] = image[X] + cast(Float32, c)
    pipe = pipeline(f, estimates={image: [SIZE], f: [3, SIZE]})
    lanes = "f.bound(c, 0, 3).split(x, x, xv, 8).reorder(xv, c).vectorize(xv)"
    apart, woven = (parse_schedule(lanes + after, pipe) for after in ("", ".unroll(c)"))
    assert cost_of(pipe, apart, store=100.0, scatter=1.0) == 3 * SIZE
    assert cost_of(pipe, woven, store=1.0, scatter=100.0) == 3 * VECTORS
    assert cost_of(pipe, woven, store=1.0, shuffle=1.0) == (1 + 2) * 3 * VECTORS


@pytest.mark.parametrize("lanes", ["xv, yv", "yv, xv"])
def test_vectors_of_several_lines_are_not_woven(lanes: str) -> None:
    y, image, f, c = Var("y"), ImageParam(Float32, 2, "image"), Func("f"), Var("c")
    f[c, X, y] = image[X, y] + cast(Float32, c)
    pipe = pipeline(f, estimates={f: [3, 64, 16]})
    text = f"split(x, x, xv, 4).split(y, y, yv, 2).reorder({lanes}, c, x, y)"
    text = f"f.bound(c, 0, 3).{text}.vectorize(xv).vectorize(yv).unroll(c)"
    assert cost_of(pipe, parse_schedule(text, pipe), store=100.0, scatter=1.0) == 3 * 64 * 16
