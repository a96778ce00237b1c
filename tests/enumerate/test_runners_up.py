"""How many schedules are asked for does not change which one is the first."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.enumerate.search.board import Board
from spaces.enumerate.search.events import Done, Found
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import UInt8
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples, some
from tests.enumerate.pipelines import blur, chain, equalized, long_chain
from tests.search_runs.run import CPU_ONLY, STRATEGIES, drawn

CPU, GPU = FOUR_CORES, device("sm_80")
X, Y = Var("x"), Var("y")
EXACT = ("best-first", "exhaustive")
"""They end with the cheapest schedules of a space, but look at more of them if more are kept."""
FEW = 8
"""After so many structures a search ends."""


def _found(space: ScheduleSpace, strategy: str, limits: Limits) -> Done:
    return best(search(space, strategy=strategy, limits=limits))


@pytest.mark.parametrize(
    ("make", "strategy"),
    some(
        (make, strategy)
        for make in (blur, equalized)
        for strategy in sorted(set(STRATEGIES) - {*EXACT, "optuna"})
        # It looks at whole pipelines before it counts a structure, and takes 6 s for this one.
        if (make, strategy) != (equalized, "reuse-analysis")
    ),
)
def test_the_first_of_five_is_the_first_of_one(make: Callable[[], Pipeline], strategy: str) -> None:
    on = FOUR_CORES if strategy in CPU_ONLY or make is not blur else GPU
    space = ScheduleSpace(make(), on, Options.medium(on))
    one = _found(space, strategy, Limits(structures=FEW, seed=3))
    five = _found(space, strategy, Limits(structures=FEW, seed=3, top=5))
    assert five.best[0] == one.best[0]
    assert [found.cost for found in five.best] == sorted(found.cost for found in five.best)
    for found in five.best:
        assert verify(space.pipeline, found.schedule, on).legal
        assert strategy == "beam" or found.schedule in space


@pytest.mark.parametrize("strategy", some(sorted(set(STRATEGIES) - {*EXACT, "optuna"})))
def test_so_it_is_for_random_pipelines(strategy: str) -> None:
    for number in range(2):
        run = drawn(31, number, strategy)
        limits = Limits(structures=FEW, seed=run.limits.seed)
        try:
            one = _found(run.space(), strategy, limits)
        except EmptySpaceError:
            continue
        five = _found(run.space(), strategy, evolve(limits, top=5))
        assert five.best[0] == one.best[0]


def _two_stencils(width: int, height: int) -> Pipeline:
    image, a, b = ImageParam(UInt8, 2, "im"), Func("a"), Func("b")
    a[X, Y] = image[X, Y] + image[X + 1, Y]
    b[X, Y] = a[X, Y] + a[X, Y + 3]
    return pipeline(b, estimates={b: [width, height]})


@settings(max_examples=examples(8, fewest=1))
@example(width=300, height=1000)
@given(width=st.integers(30, 1100), height=st.integers(30, 1100))
def test_so_it_is_where_a_normal_form_is_cheaper(width: int, height: int) -> None:
    space = ScheduleSpace(_two_stencils(width, height), FOUR_CORES)
    firsts = [_found(space, "improving", Limits(top=top)).best[0] for top in (1, 5)]
    assert firsts == firsts[:1] * 2


@pytest.mark.parametrize("strategy", ["grouping", "frozen-sampling"])
def test_so_it_is_for_the_app_blur(strategy: str) -> None:
    space = ScheduleSpace(APPS["blur"].pipeline(), CPU)
    assert (
        _found(space, strategy, Limits(top=2)).best[0] == _found(space, strategy, Limits()).best[0]
    )


def test_a_search_along_one_path_fills_the_other_places() -> None:
    space = ScheduleSpace(long_chain(4), FOUR_CORES, Options.medium(FOUR_CORES))
    found = _found(space, "stagewise", Limits(top=5)).best
    assert len(found) == 5
    assert found[1].cost < 1.2 * found[0].cost


def test_of_equal_schedules_the_first_one_stays() -> None:
    space = ScheduleSpace(chain(), FOUR_CORES, Options.small(FOUR_CORES))
    schedules = space.sample(4, seed=5)
    for top in (1, 2, 3):
        board = Board(Limits(top=top))
        for schedule in schedules:
            list(board.offer(Found(1.0, schedule)))
        assert board.best[0].schedule == schedules[0]
