"""Greedy grouping: which Funcs share tiles, and what a search by merging promises."""

from __future__ import annotations

import numpy as np
import pytest

import spaces
from spaces.constraints.devices.device import device
from spaces.cost.batch import Batch
from spaces.enumerate.search.events import Done
from spaces.enumerate.search.first_schedules import offer_incumbents
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.grouping import Grouping
from spaces.enumerate.search.papers.groups import GroupPrices, StageGroup, tile_limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.functions import sqrt
from spaces.model.expressions.types import Float32
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import ROOT, LoopLevel, Schedule
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import X, Y, blur, chain, equalized, row_sums, two_outputs
from tests.small_space import small_space

PIPELINES = (blur, chain, row_sums, two_outputs, equalized)
SM_80 = device("sm_80")


def root_stores(batch: Batch) -> np.ndarray:
    """A cost model: only values that are stored at root cost something."""
    stored = sum(func.distinct for func in batch.features.funcs if func.store_depth == 0)
    return batch.full(stored + 0.0)


def operations(batch: Batch) -> np.ndarray:
    """A cost model: only evaluations cost something, so all that is computed twice is dear."""
    done = sum(stage.points * (stage.work.operations.total + 1) for stage in batch.features.stages)
    return batch.full(done + 0.0)


def heavy(size: int = 512) -> Pipeline:
    """A dear stage that a stencil reads at three lines."""
    image = ImageParam(Float32, 2, "input")
    dear, out = Func("dear"), Func("out")
    dear[X, Y] = sqrt(sqrt(image[X, Y] + 1.0) + sqrt(image[X, Y] + 2.0))
    out[X, Y] = dear[X, Y - 1] + dear[X, Y] + dear[X, Y + 1]
    return pipeline(out, estimates={out: [size, size], image: [(0, size), (-1, size + 2)]})


def found(space: ScheduleSpace, model: object = None, **more: object) -> Done:
    return best(search(space, model, Grouping(**more)))


@pytest.mark.parametrize("algorithm", PIPELINES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("target", [FOUR_CORES, SM_80], ids=lambda one: one.name)
def test_its_schedules_are_legal_members_of_the_space(algorithm, target) -> None:
    space = small_space(algorithm(), target)
    done = best(search(space, strategy="grouping", limits=Limits(top=2)))
    assert done.complete
    for one in done.best:
        assert space.verdict(one.schedule)
        assert one.schedule in space


def test_stores_at_root_merge_all_groups() -> None:
    schedule = found(small_space(heavy(), FOUR_CORES), root_stores).best[0].schedule
    dear = schedule.of("dear")
    assert dear.compute.func in ("out", "")  # at a tile of the output, or inlined
    assert not dear.compute.is_root


def test_values_computed_twice_keep_groups_apart() -> None:
    schedule = found(small_space(heavy(), FOUR_CORES), operations).best[0].schedule
    assert schedule.of("dear").compute == ROOT


def test_a_member_is_computed_at_the_tile_loop_of_its_output() -> None:
    space = ScheduleSpace(heavy(), FOUR_CORES, Options(placements=("root", "at"), root=("tiles",)))
    schedule = found(space, root_stores).best[0].schedule
    assert schedule.of("dear").compute == LoopLevel("out", "x")
    assert schedule.of("dear").store == LoopLevel("out", "x")


def test_the_price_of_a_group_is_that_of_its_funcs_alone() -> None:
    """All groups together cost what the whole schedule costs, for a model that adds up stages."""
    space = small_space(chain(), FOUR_CORES)
    prices = GroupPrices(Pricer.of(space, _Operations(), Limits()))
    groups = [StageGroup("c"), StageGroup("b", frozenset({"a"}))]
    entries = {e.name: e for group in groups for e in prices.of(group).entries}
    whole = Schedule(tuple(entries[name] for name in ("a", "b", "c")))
    assert space.verdict(whole)
    cost = float(operations(Batch.of(space.pipeline, whole)))
    assert sum(map(prices.cost, groups)) == pytest.approx(cost)


@pytest.mark.parametrize("lanes", [16, 32])
def test_groups_satisfy_the_restrictions(lanes: int) -> None:
    """So they make something cheaper than the simple schedules that every search begins with."""
    space = small_space(blur(), FOUR_CORES, where=[spaces.lanes("blur_y") == lanes])
    pricer = Pricer.of(space, spaces.cost_model("reuse", FOUR_CORES), Limits())
    for _ in offer_incumbents(pricer):
        pass
    assert found(space).best[0].cost < pricer.board.best[0].cost
    group = GroupPrices(pricer).of(StageGroup("blur_y", inlined=frozenset({"blur_x"})))
    inlined = space.menus["blur_x"].inlined
    assert space.verdict(Schedule((inlined, *group.entries)))


def test_a_group_is_priced_once() -> None:
    prices = GroupPrices(Pricer.of(small_space(chain(), FOUR_CORES), _Operations(), Limits()))
    board = prices.pricer.board
    first = prices.of(StageGroup("c", frozenset({"b"})))
    scored = board.structures
    assert scored > 0
    assert prices.of(StageGroup("c", frozenset({"b"}))) is first
    assert board.structures == scored


class _Operations:
    def cost(self, batch: Batch) -> np.ndarray:
        return operations(batch)


@pytest.mark.parametrize(
    ("extent", "tiled", "limits"),
    [
        (63, 2, (2, 31)),
        (64, 2, (8, 32)),
        (1023, 2, (8, 511)),
        (1024, 2, (8, 32)),
        (1024, 1, (8, 8)),
        (2560, 2, (8, 80)),
        (4096, 1, (8, 32)),
    ],
)
def test_tile_limits_are_those_of_the_paper(extent, tiled, limits) -> None:
    assert tile_limits(extent, tiled) == limits


def test_tiles_on_a_gpu_keep_the_limits() -> None:
    space = small_space(blur(1536, 2560), SM_80)
    schedule = found(space).best[0].schedule
    factors = {split.old: split.factor for split in schedule.of("blur_y").stages[0].splits}
    assert factors["x"] in (16, 32)
    assert factors["y"] in (8, 16)


def sums_of_channels(size: int = 512) -> Pipeline:
    """Stages K, W and Z of [S20] Fig. 3: W reads the channels of K at its own pixel alone."""
    c = Var("c")
    image = ImageParam(Float32, 2, "E")
    k, w, z = Func("K"), Func("W"), Func("Z")
    k[X, Y, c] = sqrt(image[X, Y] + c) + sqrt(image[X + 1, Y]) + sqrt(image[X + 2, Y])
    w[X, Y] = k[X, Y, 0] + k[X, Y, 1] + k[X, Y, 2]
    z[X, Y] = sqrt(w[X, Y - 2] + w[X, Y - 1]) + w[X, Y] + w[X, Y + 1] + w[X, Y + 2]
    sizes = {z: [size, size], image: [(0, size + 2), (-2, size + 4)]}
    return pipeline(z, estimates=sizes)


def test_nested_fusion_moves_a_member_into_the_threads_of_its_reader() -> None:
    options = Options(
        placements=("root", "at"),
        storage="compute",
        root=("blocks",),
        inner=("threads", "serial"),
        row_tiles=(16,),
        tiles=(8,),
    )
    space = ScheduleSpace(sums_of_channels(), SM_80, options)
    nested = found(space, shared_bytes).best[0].schedule
    overlapping = found(space, shared_bytes, nests=False).best[0].schedule
    assert overlapping.of("K").compute == LoopLevel("Z", "x")
    assert overlapping.of("W").compute == LoopLevel("Z", "x")
    assert nested.of("W").compute == LoopLevel("Z", "x")
    assert nested.of("K").compute == LoopLevel("W", "x")
    kinds = {loop.kind for loop in nested.of("K").stages[0].loops}
    assert LoopKind.GPU_THREAD not in kinds


def shared_bytes(batch: Batch) -> np.ndarray:
    """A cost model: memory of blocks, and much more for each kernel."""
    kernels = batch.features.kernels
    return batch.full(sum(kernel.shared_bytes + 1e9 for kernel in kernels) + 0.0)


def test_funcs_whose_sizes_depend_on_params_have_no_group() -> None:
    """A Param without a default has no value before the pipeline runs."""
    step = spaces.Param(spaces.Int32, "step")
    first, second = Func("first"), Func("second")
    first[X, Y] = X + Y
    second[X, Y] = first[X, 2 - Y * step] + 1
    pipe = pipeline(second, estimates={second: [64, 64]})
    space = ScheduleSpace(pipe, FOUR_CORES, Options.small(FOUR_CORES))
    prices = GroupPrices(Pricer.of(space, _Operations(), Limits()))
    assert prices.of(StageGroup("first")).cost == np.inf


def test_an_output_has_a_group_though_nothing_is_known_of_what_it_reads() -> None:
    """At root, no bounds of ``first`` are known; inlined it needs none."""
    image = spaces.ImageParam(spaces.Int32, 2, "image")
    first, second = Func("first"), Func("second")
    first[X, Y] = X * X + Y
    second[X, Y] = first[image[X, Y], Y] + 1
    pipe = pipeline(second, estimates={second: [64, 64], image: [64, 64]})
    space = ScheduleSpace(pipe, FOUR_CORES, Options.small(FOUR_CORES))
    prices = GroupPrices(Pricer.of(space, _Operations(), Limits()))
    assert np.isfinite(prices.of(StageGroup("second", inlined=frozenset({"first"}))).cost)
