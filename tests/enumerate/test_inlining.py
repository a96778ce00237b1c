"""Funcs that a search inlines in the schedule that it has found."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

import spaces
from spaces import Options, ScheduleSpace
from spaces.apps.catalog import APPS
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.rewrites.inline import find_funcs_to_inline
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur
from tests.enumerate.rewritten import rewritten

MODEL = Reuse(FOUR_CORES)
MEDIUM = Options.medium(FOUR_CORES)


def chain() -> spaces.Pipeline:
    """A value for each pixel, and another one from it."""
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.UInt16, 2, "image")
    first, second, out = spaces.Func("first"), spaces.Func("second"), spaces.Func("out")
    first[x, y] = image[x, y] * 2
    second[x, y] = first[x, y] + 1
    out[x, y] = second[x, y] * 3
    return spaces.pipeline(out, estimates={out: [1024, 1024], image: [1024, 1024]})


def after_inlining(space: ScheduleSpace, text: str, model: spaces.CostModel = MODEL) -> Found:
    """The best schedule after a search tried to inline its Funcs."""
    return rewritten(space, text, model, find_funcs_to_inline)


def test_stored_funcs_are_inlined_where_this_is_cheaper() -> None:
    space = ScheduleSpace(chain(), FOUR_CORES, MEDIUM)
    text = "out.vectorize(x, 16)\nsecond.compute_root()\nfirst.compute_root()"
    found = after_inlining(space, text)
    assert found.schedule == spaces.parse_schedule("out.vectorize(x, 16)", space.pipeline)
    assert found.cost == float(MODEL.cost(Batch.of(space.pipeline, found.schedule)))


def test_funcs_whose_loops_others_need_are_inlined_after_these() -> None:
    """``second`` has the loop in which ``first`` is."""
    space = ScheduleSpace(chain(), FOUR_CORES, MEDIUM)
    text = "second.compute_root()\nfirst.compute_at(second, y)"
    assert after_inlining(space, text).schedule == spaces.parse_schedule("", space.pipeline)


def test_what_is_read_again_stays_stored() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, MEDIUM)
    text = "blur_y.vectorize(x, 16).parallel(y, 32)\nblur_x.compute_at(blur_y, y).vectorize(x, 16)"
    assert after_inlining(space, text).schedule == spaces.parse_schedule(text, space.pipeline)


def test_spaces_without_inlining_and_given_funcs_stay_as_they_are() -> None:
    pipe, text = chain(), "second.compute_root()\nfirst.compute_root()"
    schedule = spaces.parse_schedule(text, pipe)
    without = evolve(MEDIUM, placements=("root", "at"))
    assert after_inlining(ScheduleSpace(pipe, FOUR_CORES, without), text).schedule == schedule
    given = schedule.with_funcs((schedule.of("second"),))
    fixed = ScheduleSpace(pipe, FOUR_CORES, MEDIUM, fixed=given)
    assert not after_inlining(fixed, text).schedule.of("second").compute.is_inline


def test_hist_computes_gray_again_for_its_colors() -> None:
    """Its gray values are counted from a clone, so nothing else reads those of the colors."""
    few = evolve(Options.expert(FOUR_CORES), row_tiles=(64,), tiles=(8,), lanes=(1,))
    space = ScheduleSpace(APPS["hist"].pipeline(), FOUR_CORES, few)
    found = spaces.best(spaces.search(space, MODEL, "stagewise")).best[0].schedule
    assert found.of("gray").compute.is_inline, str(found)
    assert found.of("gray_clone_in_lines").compute.func == "lines"


@pytest.mark.parametrize(
    ("stored", "inlined", "is_inlined"),
    [(100.0, 98.0, True), (100.0, 99.5, False), (-10.0, -9.95, False), (-10.0, -11.0, True)],
)
def test_what_counts_is_the_gain(stored: float, inlined: float, is_inlined: bool) -> None:
    def cost(batch: Batch) -> np.ndarray:
        is_stored = any(func.name == "second" for func in batch.features.funcs)
        return batch.full(stored if is_stored else inlined)

    space = ScheduleSpace(chain(), FOUR_CORES, MEDIUM)
    model = spaces.cost_model(cost, FOUR_CORES)
    found = after_inlining(space, "second.compute_root()", model).schedule
    assert found.of("second").compute.is_inline == is_inlined


def test_what_is_inlined_is_limited_by_its_work() -> None:
    """Each price of a schedule is as much work as it has Funcs."""
    space = ScheduleSpace(chain(), FOUR_CORES, MEDIUM)
    text = "second.compute_root()\nfirst.compute_root()"
    counts = []
    for most in range(12):
        found = rewritten(space, text, MODEL, find_funcs_to_inline, most=most)
        counts.append(sum(e.compute.is_inline for e in found.schedule.funcs))
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, 2)


def test_small_gains_add_up() -> None:
    """Each Func that is inlined saves 0.7 %, which alone is too little to tell."""

    def cost(batch: Batch) -> np.ndarray:
        return batch.full(100.0 + 0.7 * len(batch.features.funcs))

    space = ScheduleSpace(chain(), FOUR_CORES, MEDIUM)
    model = spaces.cost_model(cost, FOUR_CORES)

    def names(text: str) -> list[str]:
        funcs = after_inlining(space, text, model).schedule.funcs
        return [func.name for func in funcs if func.compute.is_inline]

    assert names("first.compute_root()\nsecond.compute_root()") == ["first", "second"]
    assert names("second.compute_root()") == ["first"]


def test_small_gains_cost_no_large_one() -> None:
    """``second`` saves little, and makes ``first`` dearer, which alone saves 5 %."""

    def cost(batch: Batch) -> np.ndarray:
        stored = frozenset(func.name for func in batch.features.funcs) - {"out"}
        prices = {"first second": 100.0, "first": 99.9, "second": 95.0, "": 98.0}
        return batch.full(prices[" ".join(sorted(stored))])

    space = ScheduleSpace(chain(), FOUR_CORES, MEDIUM)
    model = spaces.cost_model(cost, FOUR_CORES)
    found = after_inlining(space, "first.compute_root()\nsecond.compute_root()", model)
    assert found.cost == 95.0
    assert found.schedule.of("first").compute.is_inline
