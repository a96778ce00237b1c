"""The lanes of a vector go through memory together, wherever the schedule has their loop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.features.lanes_together import join_lanes
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import ONE_CORE
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
MEMORY = Reuse(
    ONE_CORE,
    free(
        line_from_l2=0.25,
        lane_from_l2=3.0,
        line_from_l3=1.2,
        line_from_memory=5.0,
        row_from_l3=10.0,
        row_from_memory=25.0,
    ),
)


def _row_sums(width: int, height: int) -> Pipeline:
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    r = RDom([(0, width)], "r")
    out[Y] += image[r.x, Y]
    return pipeline(out, estimates={image: [width, height], out: [height]})


def _moved(pipe: Pipeline, text: str) -> float:
    return float(MEMORY.cost(Batch.of(pipe, parse_schedule(text, pipe))))


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 5000), st.integers(16, 3000), st.sampled_from([4, 8, 16]))
def test_a_vector_around_a_loop_moves_what_a_vector_in_it_moves(
    width: int, height: int, lanes: int
) -> None:
    """Both have the same code: a loop over the terms, and in it a vector of rows."""
    pipe = _row_sums(width, height)
    split = f"out.update(0).split(y, y, yi, {lanes}, TailStrategy::GuardWithIf)"
    around = _moved(pipe, f"{split}.reorder(r.x, yi, y).vectorize(yi)")
    inside = _moved(pipe, f"{split}.reorder(yi, r.x, y).vectorize(yi)")
    assert around == pytest.approx(inside)


def test_lanes_that_read_rows_at_once_need_room_for_a_line_of_each() -> None:
    """Rows of 4096 bytes are at one place of a cache of 32 KiB with pages as ways: 8 fit, not 16.
    If one row came after the other, all would.
    """
    pipe = _row_sums(1024, 64)
    text = "out.update(0).split(y, y, yi, {}).reorder(r.x, yi, y).vectorize(yi)"
    few, many = (_moved(pipe, text.format(lanes)) for lanes in (4, 16))
    assert many > 3 * few


def test_a_vector_with_other_funcs_inside_stays_where_it_is() -> None:
    image, each, out = ImageParam(Float32, 2, "image"), Func("each"), Func("out")
    each[X, Y] = image[X, Y] * 2.0
    out[X, Y] = each[X, Y] + each[X, Y + 1]
    pipe = pipeline(out, estimates={out: [64, 64]})
    loops = "out.split(x, x, xi, 8).reorder(y, xi, x).vectorize(xi)"

    def kinds(text: str) -> list[LoopKind]:
        features = join_lanes(Batch.of(pipe, parse_schedule(text, pipe)).features)
        return [loop.kind for loop in features.func("out").stages[0].own]

    serial, vector = LoopKind.SERIAL, LoopKind.VECTORIZED
    assert kinds(loops) == [serial, serial, vector]
    assert kinds(f"{loops}\neach.compute_at(out, y)") == [serial, vector, serial]


def test_all_loops_run_as_often_as_before() -> None:
    """A loop of 4 steps, a vector of 8 lanes around a loop of 64: 4, 4 * 64 and 4 * 64 * 8 runs."""
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    out[X, Y] = image[X, Y] * 2.0
    pipe = pipeline(out, estimates={out: [32, 64]})
    text = "out.split(x, x, xi, 8).reorder(y, xi, x).vectorize(xi)"
    features = join_lanes(Batch.of(pipe, parse_schedule(text, pipe)).features)
    assert [float(loop.runs) for loop in features.func("out").stages[0].own] == [4, 256, 2048]
