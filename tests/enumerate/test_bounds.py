"""Lower bounds of the cost of half-decided schedules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import attrs
import numpy as np
import pytest

import spaces
from spaces import Options, PartialSchedule, ScheduleSpace
from spaces.apps.catalog import APPS
from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.cost.model import CostModel
from spaces.cost.simple.roofline import Roofline
from spaces.cost.simple.weighted import Weighted
from spaces.enumerate.search.bounds import _changes_readers, lower_bound
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule
from tests.cost.prices import free
from tests.cpus import FOUR_CORES, ONE_CORE, ROUND_PEAKS
from tests.draw_counts import some
from tests.enumerate.pipelines import blur, chain, row_sums, two_outputs
from tests.enumerate.process.test_universes import UNIVERSES

CPU, SM80 = FOUR_CORES, spaces.device("sm_80")


def models(device: spaces.Device) -> list[CostModel]:
    if device is CPU:
        return [Weighted(), Reuse.of(device), Roofline(device, ROUND_PEAKS)]
    return [Weighted(), OccupancyModel.of(device), Roofline.of(device)]


SMALL_CACHES = attrs.evolve(FOUR_CORES, l1_bytes=128, l2_bytes=512, l3_bytes=4096)
"""Caches that hold nothing of an image, so that lines move."""

ALL_CPU_MODELS = (
    Weighted(),
    Reuse(FOUR_CORES),
    Reuse(SMALL_CACHES),
    Roofline(SMALL_CACHES, ROUND_PEAKS),
)


def cost_of(model: CostModel, space: ScheduleSpace, complete: PartialSchedule) -> float:
    """The cost of a complete schedule as a choice of its structure."""
    state = complete.state
    structure = Schedule(state.entries, state.pipeline.derivations)
    numbers = {name: state.numbers[name] for name in parameters(structure)}
    return float(model.cost(Batch.of(space.pipeline, structure, numbers)))


def assert_bounded(space: ScheduleSpace, way: list[PartialSchedule]) -> None:
    """Along a way to a complete schedule, bounds rise up to its cost at most."""
    for model in models(space.device):
        bounds = [lower_bound(partial, model) for partial in way if partial.state.draft is None]
        assert bounds == sorted(bounds)
        assert 0 < bounds[-1] <= cost_of(model, space, way[-1])


def two_values() -> spaces.Pipeline:
    """A Func with two values, whose reader reads both; and a constant, which may be inlined."""
    x, y = spaces.Var("x"), spaces.Var("y")
    pair, five, out = spaces.Func("pair"), spaces.Func("five"), spaces.Func("out")
    pair[x, y] = (x + y, x * y)
    five[x, y] = 5
    out[x, y] = pair[x, y][0] + pair[x, y][1] * (five[x, y] + 1)
    return spaces.pipeline(out, estimates={out: [64, 64]})


def looked_up() -> spaces.Pipeline:
    """A coordinate that reads a Func, which is decided after the Func that it indexes."""
    x = spaces.Var("x")
    place, values, out = spaces.Func("place"), spaces.Func("values"), spaces.Func("out")
    place[x] = spaces.clamp(x * 3, 0, 40)
    values[x] = x + 1
    out[x] = values[place[x]] + values[x]
    return spaces.pipeline(out, estimates={out: [64]})


PIPELINES = {
    "blur": blur,
    "chain": chain,
    "row_sums": row_sums,
    "two_outputs": two_outputs,
    "two_values": two_values,
    "looked_up": looked_up,
}


CASES = [(name, "expert", CPU) for name in PIPELINES]
CASES += [("blur", "small", CPU), ("blur", "expert", SM80), ("row_sums", "expert", SM80)]


@pytest.mark.parametrize(("name", "preset", "device"), some(CASES))
def test_bounds_rise_along_random_ways(name: str, preset: str, device: spaces.Device) -> None:
    space = ScheduleSpace(PIPELINES[name](), device, getattr(Options, preset)(device))
    draws = (draw.schedule for draw in itertools.islice(space.draws(seed=5), 6))
    legal = [schedule for schedule in draws if schedule is not None]
    for schedule in legal[:2]:
        assert_bounded(space, space.way_to(schedule))
    assert legal


@pytest.mark.parametrize(
    ("app", "kind"), [("blur", "cpu"), ("unsharp", "cpu"), ("sgemm", "cpu"), ("blur", "gpu")]
)
def test_bounds_rise_towards_schedules_by_hand(app: str, kind: str) -> None:
    device = CPU if kind == "cpu" else SM80
    pipeline = APPS[app].pipeline()
    hand = spaces.parse_schedule(APPS[app].schedules[kind].read_text(), pipeline)
    space = ScheduleSpace(pipeline, device, Options.everything(device))
    assert_bounded(space, space.way_to(hand))


@pytest.mark.parametrize(
    "universe",
    some(
        [
            "an index that reads a Func",
            "a vectorized reduction",
            "storage",
            "specialized stages",
            "wrappers",
        ]
    ),
)
def test_no_completion_is_below_a_bound(universe: str) -> None:
    space = ScheduleSpace(*UNIVERSES[universe])
    bounds: list[list[float]] = [[] for _ in ALL_CPU_MODELS]

    def least(partial: PartialSchedule) -> list[float]:
        """The least cost of a completion by each model."""
        if partial.is_complete:
            found = [cost_of(model, space, partial) for model in ALL_CPU_MODELS]
        else:
            costs = (least(partial.take(option)) for option in partial.options)
            found = [min(column) for column in zip(*costs, strict=True)]
        if partial.state.draft is None:
            for model, cost, ratios in zip(ALL_CPU_MODELS, found, bounds, strict=True):
                if cost:
                    bound = lower_bound(partial, model)
                    assert bound <= cost
                    ratios.append(bound / cost)
        return found

    least(space.start())
    for model, ratios in zip(ALL_CPU_MODELS, bounds, strict=True):
        assert max(ratios) > (0.999 if model == Weighted() else 0.1)


def test_operations_count_when_nothing_can_be_inlined_into_them() -> None:
    """blur_y has three operations, and twelve if the three of blur_x are inlined three times."""
    pipeline, model = blur(), Weighted(arith=1, math=0, loads=0, stores=0, mem=0)
    space = ScheduleSpace(pipeline, CPU, Options(root=("serial",), inner=("serial",)))
    inlined, rooted = (
        spaces.schedule(pipeline),
        spaces.schedule(pipeline).func("blur_x").compute_root(),
    )
    for made, points in ((inlined, 12 * 512 * 256), (rooted, 3 * 512 * 256 + 3 * 512 * 258)):
        start, *_, last = space.way_to(made.schedule)
        assert lower_bound(start, model) == 0
        assert lower_bound(last, model) == pytest.approx(points)


def test_stores_count_at_once() -> None:
    """The values of the output are stored whatever is decided about blur_x."""
    space = ScheduleSpace(blur(), CPU, Options(root=("serial",), inner=("serial",)))
    model = Reuse(FOUR_CORES, free(store=2.0))
    assert [entry.name for entry in space.start().state.entries] == ["blur_y"]
    assert lower_bound(space.start(), model) == pytest.approx(2 * 512 * 256, rel=1e-4)


def test_models_without_a_bound() -> None:
    partial = ScheduleSpace(blur(), CPU, Options.small(CPU)).start()
    assert lower_bound(partial, spaces.cost_model(lambda batch: 1.0, CPU)) == -math.inf
    assert lower_bound(partial, Weighted(arith=-1)) == -math.inf
    assert lower_bound(partial, Reuse(FOUR_CORES, Prices(load=-1))) == -math.inf
    assert lower_bound(partial, Weighted()) == 0


def test_loads_have_no_bound_where_lanes_are_cheap() -> None:
    """Rows of a window that wraps are loaded lane by lane, which other Funcs decide."""
    x, y = spaces.Var("x"), spaces.Var("y")
    f, out = spaces.Func("f"), spaces.Func("out")
    f[x, y] = x + y
    f[x, 0] += 1
    out[x, y] = f[x, y] + f[x + 1, y]
    pipeline = spaces.pipeline(out, estimates={out: [64, 8]})
    made = spaces.parse_schedule("out.vectorize(x, 8)\nf.store_root().compute_at(out, x)", pipeline)
    space = ScheduleSpace(pipeline, FOUR_CORES, Options.everything(FOUR_CORES))
    *_, last = space.way_to(made)
    cheap = Reuse(FOUR_CORES, free(load=1.0))
    assert lower_bound(last, cheap) == -math.inf
    usual = Reuse(FOUR_CORES)
    assert 0 < lower_bound(last, usual) <= cost_of(usual, space, last)


def test_rows_of_small_parts_may_join_in_larger_ones() -> None:
    """Rows that are rounded up are touched whole, those that are required are not."""
    x, y = spaces.Var("x"), spaces.Var("y")
    image, f, out = (
        spaces.ImageParam(spaces.Int32, 2, "image"),
        spaces.Func("f"),
        spaces.Func("out"),
    )
    f[x, y] = image[x, y] * 2
    out[x, y] = f[x, y] + f[x + 1, y] + f[x, y + 1]
    pipeline = spaces.pipeline(out, estimates={out: [16, 32], image: [17, 33]})
    text = "out.split(y, yo, y, 16).tile(x, y, xi, yi, 20, 4)\nf.compute_at(out, yi).store_root()"
    made = spaces.parse_schedule(text, pipeline)
    space = ScheduleSpace(pipeline, FOUR_CORES, Options.everything(FOUR_CORES))
    caches = attrs.evolve(ONE_CORE, l1_bytes=128, l2_bytes=2000, l3_bytes=1 << 20)
    model = Reuse(caches, free(row_from_l3=1.0))
    *_, last = space.way_to(made)
    assert 0 < lower_bound(last, model) <= cost_of(model, space, last)


def test_an_open_func_may_get_another_order_in_memory() -> None:
    """By columns, the lanes of its reader are neighbors."""
    x, y = spaces.Var("x"), spaces.Var("y")
    f, out = spaces.Func("f"), spaces.Func("out")
    f[x, y] = x + y
    f[x, 0] += 1
    out[x, y] = f[y, x]
    pipeline = spaces.pipeline(out, estimates={out: [8, 8]})
    made = spaces.parse_schedule(
        "out.vectorize(x, 8)\nf.compute_root().reorder_storage(y, x)", pipeline
    )
    space = ScheduleSpace(pipeline, FOUR_CORES, Options.everything(FOUR_CORES))
    model = Reuse(FOUR_CORES, free(lane=1.0))
    way = space.way_to(made)
    bounds = [lower_bound(partial, model) for partial in way if partial.state.draft is None]
    assert max(bounds) <= cost_of(model, space, way[-1])


def test_lines_of_an_image_with_several_readers_may_move_once() -> None:
    """So neither of the readers counts them."""
    pipeline, model = row_sums(), Reuse(FOUR_CORES)
    found = Batch.of(pipeline, Schedule.default(pipeline)).features
    unknown, alone, shared = (
        float(np.min(model.least(attrs.evolve(found, readers=readers))))
        for readers in (
            {},
            {"input": frozenset({"out"})},
            {"input": frozenset({"out", "sums"})},
        )
    )
    assert unknown <= shared < alone


def test_a_scalar_without_a_default_bounds_nothing() -> None:
    """The size of a Func depends on it, so nobody knows what the Func costs."""
    x, shift = spaces.Var("x"), spaces.Param("int32", "shift")
    low, out = spaces.Func("low"), spaces.Func("out")
    low[x] = x * 2
    out[x] = low[x] + low[x + spaces.clamp(shift, 0, 8)]
    space = spaces.ScheduleSpace(spaces.pipeline(out, estimates={out: [4096]}), FOUR_CORES)
    model = spaces.cost_model("reuse", FOUR_CORES)
    partial = space.start().completed(lambda decision: decision.options[0])
    assert 0.0 <= lower_bound(partial, model) < float("inf")


@pytest.mark.parametrize(
    ("make", "text", "changes"),
    [
        (blur, "blur_x.compute_root()", False),
        (blur, "blur_x.compute_inline()", True),
        (blur, "blur_x.compute_root().reorder_storage(y, x)", True),
        (two_values, "pair.compute_root()", True),  # either value may be read alone
    ],
)
def test_what_readers_compute_depends_on_few_given_funcs(
    make: Callable[[], spaces.Pipeline], text: str, changes: bool
) -> None:
    whole, name = make(), text.partition(".")[0]
    fixed = spaces.parse_partial(text, whole)
    assert [entry.name for entry in fixed.funcs] == [name]
    state = ScheduleSpace(whole, FOUR_CORES, fixed=fixed).start().state
    assert _changes_readers(state, whole.function(name)) == changes
