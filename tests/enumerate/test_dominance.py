"""What a search for a GPU leaves out, and what it must not leave out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

import spaces
from spaces.cost.batch import Batch
from spaces.enumerate.search.stagewise.dominance import is_read_in_threads
from spaces.enumerate.search.stagewise.gpu_policy import GpuPolicy
from spaces.enumerate.search.stagewise.state import HalfDecided

GPU = spaces.device("sm_90")


def dear_point() -> spaces.Pipeline:
    """``middle`` reads a result of many operations once; ``out`` reads neighbors in it."""
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.Float32, 2, "image")
    dear, middle, out = spaces.Func("dear"), spaces.Func("middle"), spaces.Func("out")
    value = image[x, y]
    for _ in range(40):
        value = value * value + 1.0
    dear[x, y] = value
    middle[x, y] = dear[x, y] * 2.0
    out[x, y] = sum((middle[x, y + d] for d in range(1, 5)), middle[x, y])
    return spaces.pipeline(out, estimates={out: [1024, 1024]})


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("out.gpu_tile(x, y, xi, yi, 32, 8)\nmiddle.compute_at(out, xi)", True),
        ("out.gpu_tile(x, y, xi, yi, 32, 8)\nmiddle.compute_at(out, x).gpu_threads(x, y)", False),
        (
            "out.gpu_tile(x, y, xi, yi, 32, 8)\n"
            "middle.compute_root().gpu_tile(x, y, xi, yi, 32, 8)",
            False,
        ),
        ("out.gpu_tile(x, y, xi, yi, 32, 8)", False),
    ],
)
def test_threads_compute_again_what_they_keep_for_themselves(text: str, again: bool) -> None:
    pipeline = dear_point()
    schedule = spaces.parse_schedule(text, pipeline)
    entries = {entry.name: entry for entry in schedule.funcs}
    assert is_read_in_threads(pipeline, entries, "dear") == again
    process = SimpleNamespace(pipeline=pipeline, entries=schedule.funcs)
    state = cast(HalfDecided, SimpleNamespace(partial=SimpleNamespace(state=process)))
    loses_nothing = GpuPolicy().loses_nothing_inlined(state, "dear", pipeline, schedule)
    assert loses_nothing == (not again)


@pytest.mark.parametrize("model", ["occupancy", "roofline"])
def test_a_dear_func_is_not_computed_again_by_each_thread(model: str) -> None:
    pipeline = dear_point()
    space = spaces.ScheduleSpace(pipeline, GPU)
    found = spaces.best(spaces.search(space, model)).best[0]
    stored = spaces.parse_schedule(
        "out.gpu_tile(x, y, xi, yi, 32, 8)\ndear.compute_root().gpu_tile(x, y, xi, yi, 32, 8)",
        pipeline,
    )
    assert found.cost <= float(spaces.cost_model(model, GPU).cost(Batch.of(pipeline, stored)))


def test_what_is_legal_with_numbers_alone_is_found() -> None:
    """A block computes for its tile a sum over all channels, which its threads read: that their
    loops have constant extents is known only with the numbers of the tile.
    """
    x, y, c = spaces.Var("x"), spaces.Var("y"), spaces.Var("c")
    image = spaces.ImageParam(spaces.Float32, 3, "image")
    weights = spaces.ImageParam(spaces.Float32, 2, "weights")
    taps, channels = spaces.RDom([(0, 3), (0, 3)], "taps"), spaces.RDom([(0, 32)], "channels")
    each, mixed, out = spaces.Func("each"), spaces.Func("mixed"), spaces.Func("out")
    each[c, x, y] = 0.0
    each[c, x, y] += image[c, x + taps.x, y + taps.y] * 0.25
    mixed[c, x, y] = 0.0
    mixed[c, x, y] += weights[c, channels.x] * each[channels.x, x, y]
    out[c, x, y] = spaces.max(mixed[c, x, y], 0.0)
    pipeline = spaces.pipeline(
        out, estimates={out: [16, 112, 112], image: [32, 114, 114], weights: [16, 32]}
    )
    space = spaces.ScheduleSpace(pipeline, GPU)
    found = spaces.best(spaces.search(space, "roofline")).best[0].schedule
    assert found.of("each").compute.func == "out"
    assert "GPU_THREAD" in str(found.of("each").stages[1].loops)
