"""Whatever the size, a search has a legal schedule from its first moment, with a finite cost."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.registry import cost_model, default_model
from spaces.enumerate.search.events import Improved
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
from spaces.model.expressions.types import Int32
from spaces.model.schedules.domain_order import LoopKind, Tail
from spaces.model.schedules.schedule import Schedule
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples, some
from tests.search_runs.run import CPU_ONLY, PRESETS, STRATEGIES, drawn

X, Y, C, N = Var("x"), Var("y"), Var("c"), Var("n")
GPU = device("sm_80")
DEVICES = {"cpu": FOUR_CORES, "gpu": GPU}


def _line() -> Pipeline:
    f = Func("f")
    f[X] = X
    return pipeline(f, estimates={f: [24]})


def _updated() -> Pipeline:
    f = Func("f")
    f[X, Y] = X
    f[X, Y] = f[X, Y] * 3
    return pipeline(f, estimates={f: [24, 8]})


def _four_dimensions(extents: tuple[int, ...] = (24, 12, 1, 3)) -> Pipeline:
    image = ImageParam(Int32, 4, "image")
    g, f = Func("g"), Func("f")
    g[X, Y, C, N] = image[X, Y, C, N] * 2
    f[X, Y, C, N] = g[X, Y, C, N] + g[X, Y, C, N + 1]
    return pipeline(f, estimates={f: list(extents)})


SMALL_OUTPUTS: dict[str, Callable[[], Pipeline]] = {
    "line": _line,
    "updated": _updated,
    "four dimensions": _four_dimensions,
}


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize("name", some(SMALL_OUTPUTS))
def test_small_outputs_have_schedules(name: str, on: str, preset: str) -> None:
    space = ScheduleSpace(SMALL_OUTPUTS[name](), DEVICES[on], PRESETS[preset](DEVICES[on]))
    found = best(search(space, strategy="stagewise", limits=Limits(structures=10))).best[0]
    assert math.isfinite(found.cost)
    assert found.schedule in space


def test_a_gpu_has_a_kernel_with_guards_for_a_small_output() -> None:
    small = ScheduleSpace(_updated(), GPU, Options.small(GPU)).menus["f"]
    loops = {loop.kind for order in small.root["fitting"] for loop in order.loops}
    tails = {split.tail for order in small.root["fitting"] for split in order.splits}
    assert LoopKind.GPU_THREAD in loops
    assert tails == {Tail.GUARD_WITH_IF}


def test_only_outputs_that_fit_no_pattern_have_other_loops() -> None:
    menus = ScheduleSpace(_four_dimensions((640, 480, 1, 3)), FOUR_CORES, Options.small(FOUR_CORES))
    assert "serial" not in menus.menus["f"].root
    small = ScheduleSpace(_four_dimensions(), FOUR_CORES, Options.small(FOUR_CORES))
    assert list(small.menus["f"].root)[:2] == ["fitting", "serial"]


@settings(max_examples=examples(12), deadline=None)
@given(extents=st.lists(st.integers(1, 40), min_size=4, max_size=4), data=st.data())
def test_every_size_has_an_incumbent_from_the_first_moment(
    extents: list[int], data: st.DataObject
) -> None:
    on = DEVICES[data.draw(st.sampled_from(sorted(DEVICES)))]
    options = PRESETS[data.draw(st.sampled_from(sorted(PRESETS)))](on)
    strategies = [one for one in STRATEGIES if on is FOUR_CORES or one not in CPU_ONLY]
    strategy = data.draw(st.sampled_from(strategies))
    space = ScheduleSpace(_four_dimensions(tuple(extents)), on, options)
    first = next(iter(search(space, strategy=strategy, limits=Limits(seconds=0.0))))
    assert isinstance(first, Improved)
    assert verify(space.pipeline, first.best.schedule, on)


@pytest.mark.parametrize("strategy", some(STRATEGIES))
def test_random_pipelines_have_an_incumbent_if_plain_loops_are_legal(strategy: str) -> None:
    found = 0
    for number in range(6):
        run = evolve(drawn(21, number, strategy), limits=Limits(seconds=0.0, seed=number))
        try:
            space = run.space()
        except EmptySpaceError:
            continue
        if verify(space.pipeline, Schedule.default(space.pipeline), space.device):
            done = best(search(space, strategy=strategy, limits=run.limits))
            assert verify(space.pipeline, done.best[0].schedule, space.device)
            found += 1
    assert found > 2


def _ramp(extents: list[int]) -> Pipeline:
    f = Func("f")
    args = (X, Y, C, N)[: len(extents)]
    f[args] = args[0]
    return pipeline(f, estimates={f: extents})


@settings(max_examples=examples(25, fewest=5), deadline=None)
@example(extents=[24, 12, 1, 3], on="gpu", preset="everything", strategy="improving")
@example(extents=[24, 12, 2, 3], on="gpu", preset="small", strategy="improving")
@example(extents=[20, 20], on="gpu", preset="everything", strategy="freezing")
@example(extents=[40, 3, 2, 1], on="gpu", preset="everything", strategy="sampling")
@example(extents=[17, 3], on="gpu", preset="medium", strategy="grouping")
@given(
    extents=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    on=st.sampled_from(sorted(DEVICES)),
    preset=st.sampled_from(sorted(PRESETS)),
    strategy=st.sampled_from(("improving", "freezing", "grouping", "sampling", "stagewise")),
)
def test_no_result_is_dearer_than_plain_loops(
    extents: list[int], on: str, preset: str, strategy: str
) -> None:
    """Where the space has them; on a GPU they run on the host, and small kernels are slower."""
    whole, target = _ramp(extents), DEVICES[on]
    space = ScheduleSpace(whole, target, PRESETS[preset](target))
    found = best(search(space, strategy=strategy, limits=Limits(structures=40))).best[0]
    plain = Schedule.default(whole)
    if plain in space:
        model = cost_model(default_model(target), target)
        assert found.cost <= float(model.cost(Batch.of(whole, plain)))


@settings(max_examples=examples(12, fewest=4), deadline=None)
@example(extents=[600, 999])
@given(extents=st.lists(st.integers(500, 2000), min_size=2, max_size=3))
def test_no_result_that_fills_the_gpu_leaves_lanes_of_every_warp_idle(extents: list[int]) -> None:
    """Guarded tiles leave none idle but at ends; more blocks help only where the GPU has room."""
    for preset in ("small", "medium"):
        whole = _ramp(extents)
        found = best(search(ScheduleSpace(whole, GPU, PRESETS[preset](GPU)))).best[0]
        kernels = Batch.of(whole, found.schedule).features.kernels
        assert kernels
        assert all(kernel.threads % 32 == 0 for kernel in kernels)
