"""Tiles that are longer than the dimension that they split."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from numpy.typing import NDArray

import spaces
from spaces import Options
from spaces.enumerate.search.stagewise.long_tiles import (
    fitting_menus,
    may_reach_far,
    relative_length_of_updates,
)
from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.schedule import FuncSchedule
from tests.cpus import FOUR_CORES


def summed(*extents: int) -> spaces.Pipeline:
    """A Func with an update."""
    x = spaces.Var("x")
    f = spaces.Func("f")
    f[x] = x
    f[x] += 1
    return spaces.pipeline(f, estimates={f: list(extents)})


def with_names(entry: FuncSchedule) -> FuncSchedule:
    """An entry with the name of the inner loop as the factor of each split."""
    stages = (
        evolve(order, splits=tuple(evolve(one, factor=one.inner) for one in order.splits))
        for order in entry.stages
    )
    return evolve(entry, stages=tuple(stages))


@pytest.mark.parametrize(
    ("text", "extents", "reaches"),
    [
        ("f.split(x, x, xi, 32)", (64,), False),
        ("f.split(x, x, xi, 32)", (33,), False),  # the last tile moves inwards
        ("f.split(x, x, xi, 32)", (20,), True),
        ("f.split(x, x, xi, 8).split(x, x, xo, 4)", (40,), False),
        ("f.split(x, x, xi, 8).split(x, x, xo, 8)", (40,), True),
        ("f.split(x, x, xi, 32).split(xi, xi, xv, 16)", (33,), False),
        ("f.update(0).split(x, x, xi, 32)", (64,), False),
        ("f.update(0).split(x, x, xi, 32)", (33,), True),
        ("f.update(0).split(x, x, xi, 32)", (1025,), False),
    ],
)
def test_which_tiles_may_reach_far_beyond_a_func(text, extents, reaches) -> None:
    pipeline = summed(*extents)
    schedule = spaces.parse_schedule(text, pipeline)
    assert may_reach_far(pipeline, schedule.of("f"), {}) == reaches


def test_of_a_menu_the_worst_number_counts() -> None:
    pipeline = summed(100)
    entry = with_names(spaces.parse_schedule("f.split(x, x, xi, 8)", pipeline).of("f"))
    assert not may_reach_far(pipeline, entry, {"xi": (8, 64, 100)})
    assert may_reach_far(pipeline, entry, {"xi": (8, 128)})


@pytest.mark.parametrize(
    ("text", "menus", "fitting"),
    [
        ("f.split(x, x, xi, 8)", {"xi": (8, 64, 100, 101)}, {"xi": (8, 64, 100)}),
        ("f.split(x, x, xi, 8)", {"xi": (256, 128)}, {"xi": (128,)}),  # there is no other one
        (
            "f.split(x, x, xi, 8).split(xi, xi, xv, 4)",  # the second one splits a tile
            {"xi": (64, 128), "xv": (128,)},
            {"xi": (64,), "xv": (128,)},
        ),
        (
            "f.split(x, x, xi, 8).split(x, x, xo, 4)",  # the second one splits what is left
            {"xi": (64, 128), "xo": (128, 256)},
            {"xi": (64,), "xo": (128, 256)},
        ),
        ("f.update(0).split(x, x, xu, 8)", {"xu": (64, 128)}, {"xu": (64,)}),
        ("f.split(x, x, xi, 8).gpu_blocks(x).gpu_threads(xi)", {"xi": (64, 128)}, None),
        ("f.vectorize(x)", {}, {}),
    ],
)
def test_menus_have_the_numbers_that_fit(text, menus, fitting) -> None:
    pipeline = summed(100)
    entry = with_names(spaces.parse_schedule(text, pipeline).of("f"))
    assert fitting_menus(pipeline, entry, menus) == (menus if fitting is None else fitting)


def test_without_estimates_all_numbers_fit() -> None:
    x = spaces.Var("x")
    f = spaces.Func("f")
    f[x] = x
    pipeline = spaces.pipeline(f)
    entry = with_names(spaces.parse_schedule("f.split(x, x, xi, 8)", pipeline).of("f"))
    assert fitting_menus(pipeline, entry, {"xi": (8, 1 << 20)}) == {"xi": (8, 1 << 20)}


@pytest.mark.parametrize(("where", "height"), [([], 8), ([lambda schedule: True], 64)])
def test_searches_leave_out_long_tiles_but_in_restricted_spaces(where, height: int) -> None:
    """Also if the model likes them."""
    x, y = spaces.Var("x"), spaces.Var("y")
    f, g = spaces.Func("f"), spaces.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] * f[x, y + 1]
    pipeline = spaces.pipeline(g, estimates={g: [512, 40]})
    options = Options(placements=("root",), root=("strips",), tiles=(8, 64), lanes=(1,))
    space = spaces.ScheduleSpace(pipeline, FOUR_CORES, options, where=where)

    def low(batch: spaces.Batch) -> NDArray[np.float64]:
        loops = [loop for func in batch.features.funcs for loop in func.stages[0].own]
        inner = [np.asarray(loop.trips, float) for loop in loops if loop.loop == "yi"]
        return 1.0 / sum(inner) if inner else batch.full(1.0)

    found = spaces.best(spaces.search(space, low, "stagewise")).best[0].schedule
    (split, _) = found.of("f").stages[0].splits
    assert split == Split("y", "y", "yi", height)


@pytest.mark.parametrize(
    ("text", "extents", "reach"),
    [
        ("f.update(0).gpu_tile(x, xi, 32)", (64,), 1.0),
        ("f.update(0).gpu_tile(x, xi, 32)", (33,), 64 / 33),
        ("f.update(0).split(x, x, xb, 4).gpu_tile(x, xi, 32)", (130,), 256 / 130),
        ("f.gpu_tile(x, xi, 32)", (33,), 1.0),  # the last tile moves inwards
        ("f.update(0).split(x, x, xi, 32)", (33,), 1.0),  # not in threads
    ],
)
def test_how_far_the_updates_of_blocks_of_threads_reach(text, extents, reach) -> None:
    pipeline = summed(*extents)
    entry = spaces.parse_schedule(text, pipeline).of("f")
    assert relative_length_of_updates(pipeline, entry, {}) == pytest.approx(reach)


def test_updates_reach_far_with_some_of_many_numbers() -> None:
    pipeline = summed(100)
    entry = with_names(spaces.parse_schedule("f.update(0).gpu_tile(x, xi, 8)", pipeline).of("f"))
    reach = relative_length_of_updates(pipeline, entry, {"xi": np.array([20, 25, 64, 128])})
    assert reach == pytest.approx([1.0, 1.0, 1.28, 1.28])
