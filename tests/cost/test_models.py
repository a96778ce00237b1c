"""The cost models of the library keep the contract; the registry finds them and the user's."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.constraints.devices.device import Device, device
from spaces.contracts.cost_models import CostModelContract
from spaces.contracts.examples import blur, gpu_tiled, tiled
from spaces.cost.batch import Batch, BatchError
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.cost.learned.model import Learned
from spaces.cost.model import CostModel
from spaces.cost.registry import (
    UnknownModelError,
    cost_model,
    cost_model_names,
    register_cost_model,
)
from spaces.cost.simple.roofline import Roofline
from spaces.cost.simple.weighted import Groups, Weighted, groups
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.functions import cos, sin, sqrt
from spaces.model.expressions.types import Float32, Int32
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES, ROUND_PEAKS

REGISTERED = cost_model_names()
"""The models of the library, before any test registers one."""


class TestWeighted(CostModelContract):
    def model(self) -> CostModel:
        return Weighted()


class TestReuse(CostModelContract):
    def model(self) -> CostModel:
        return Reuse(FOUR_CORES)


class TestOccupancy(CostModelContract):
    def model(self) -> CostModel:
        return OccupancyModel.of(device("sm_80"))

    def structures(self):
        pipe = blur()
        return [(pipe, gpu_tiled(pipe))]


class TestRoofline(CostModelContract):
    def model(self) -> CostModel:
        return Roofline(FOUR_CORES, ROUND_PEAKS)


class TestRooflineOfGpu(TestOccupancy):
    def model(self) -> CostModel:
        return Roofline.of(device("sm_80"))


class TestLearned(CostModelContract):
    def model(self) -> CostModel:
        return Learned.of(FOUR_CORES)


class TestHybrid(CostModelContract):
    def model(self) -> CostModel:
        return Learned.of(FOUR_CORES, "hybrid")


class _FewestVisits:
    """A user's model, which counts repeated computations of blur_x."""

    def cost(self, batch: Batch):
        return batch.full(batch.features.func("blur_x").visits)


class TestOfAUser(CostModelContract):
    def model(self) -> CostModel:
        return _FewestVisits()


def test_models_by_name() -> None:
    assert set(REGISTERED) == {"hybrid", "learned", "occupancy", "reuse", "roofline", "weighted"}, (
        "each model of the library needs a class above that inherits CostModelContract"
    )
    assert isinstance(cost_model("weighted", FOUR_CORES), Weighted)
    assert isinstance(cost_model("reuse", FOUR_CORES), Reuse)
    assert cost_model("learned", FOUR_CORES) == Learned.of(FOUR_CORES)
    assert cost_model("hybrid", FOUR_CORES) == Learned.of(FOUR_CORES, "hybrid")
    assert isinstance(cost_model("occupancy", device("sm_75")), OccupancyModel)
    assert isinstance(cost_model("roofline", device("sm_75")), Roofline)


def test_a_user_registers_a_model() -> None:
    register_cost_model("fewest visits", lambda _device: _FewestVisits())
    assert isinstance(cost_model("fewest visits", FOUR_CORES), _FewestVisits)


def test_a_user_passes_an_object_or_a_function() -> None:
    mine = _FewestVisits()
    assert cost_model(mine, FOUR_CORES) is mine
    batch = Batch.of(blur(), tiled(blur()), {"TX": [8, 16], "TY": [4, 4]})
    by_function = cost_model(lambda b: b.features.func("blur_x").points, FOUR_CORES).cost(batch)
    assert by_function.tolist() == [512 * 256 // (8 * 4) * 8 * 6, 512 * 256 // (16 * 4) * 16 * 6]


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        ("fastest", UnknownModelError, "No cost model is called 'fastest'; there are .*reuse"),
        (3, TypeError, "3 is not a cost model"),
        ("learned", ValueError, "'learned' has trained weights for CPUs only, and sm_80 is a GPU"),
        ("hybrid", ValueError, "'hybrid' has trained weights for CPUs only, and sm_80 is a GPU"),
        ("reuse", ValueError, "'reuse' is for CPUs, and sm_80 is a GPU"),
    ],
)
def test_what_is_no_model_is_refused(model, error, message) -> None:
    with pytest.raises(error, match=message):
        cost_model(model, device("sm_80"))


def test_a_batch_needs_all_parameters() -> None:
    with pytest.raises(BatchError, match="The parameters TY of the schedule have no values"):
        Batch.of(blur(), tiled(blur()), {"TX": [8]})


def test_a_batch_needs_sizes() -> None:
    x = Var("x")
    f = Func("f")
    f[x] = x * 2
    pipe = pipeline(f)
    with pytest.raises(BatchError, match=r"f.extent.0 .*needs a size for every output"):
        _ = Batch.of(pipe, Schedule.default(pipe)).features


@pytest.mark.parametrize("default", [3, None])
def test_sizes_may_depend_on_scalars_with_defaults(default: int | None) -> None:
    """Lines ``p`` apart are read together, so the Func that has them has ``p`` more."""
    x, y, p = Var("x"), Var("y"), Param(Int32, "p", default)
    f, g = Func("f"), Func("g")
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x, y + p]
    pipe = pipeline(g, estimates={g: [8, 10]})
    stored = parse_schedule("f.compute_root()", pipe)
    if default is None:
        with pytest.raises(BatchError, match="a default for each scalar on which the sizes"):
            _ = Batch.of(pipe, stored).features
    else:
        values = Batch.of(pipe, stored).features.func("f").stages[0].points
        assert float(values) == 8 * (10 + 3)


def _trig():
    """Benchmark 1 of [TOY]."""
    x, y = Var("x"), Var("y")
    g, f = Func("g"), Func("f")
    g[x, y] = sqrt(cos(x) + sin(y))
    f[x, y] = g[x + 1, y] + g[x, y] + g[x + 1, y + 1] + g[x, y + 1]
    return pipeline(f, estimates={f: [2048, 2048]})


@pytest.mark.parametrize(
    ("name", "target", "loops"),
    [
        ("reuse", FOUR_CORES, "f.compute_root().vectorize(x)"),
        ("learned", FOUR_CORES, "f.compute_root().vectorize(x)"),
        ("hybrid", FOUR_CORES, "f.compute_root().vectorize(x)"),
        ("weighted", FOUR_CORES, "f.compute_root().vectorize(x)"),
        ("occupancy", device("sm_80"), "f.compute_root().gpu_tile(x, xi, 8)"),
        (
            "occupancy",
            device("sm_80"),
            "f.compute_root().split(x, x, xi, 8).gpu_blocks(x).gpu_threads(xi)",
        ),
    ],
)
def test_a_func_without_values_has_a_cost(name: str, target: Device, loops: str) -> None:
    """No term of the sum reads it: its vectors have no lanes, its kernels no blocks or threads."""
    x, image, f, out = Var("x"), ImageParam(Float32, 1, "image"), Func("f"), Func("out")
    r = RDom([(0, image.width() - 16)], "r")
    f[x] = image[x] * 2.0
    out[x] = 0.0
    out[x] += f[r.x]
    pipe = pipeline(out, estimates={image: [16], out: [64]})
    batch = Batch.of(pipe, parse_schedule(loops, pipe))
    assert np.isfinite(cost_model(name, target).cost(batch))


def test_groups_of_the_default_schedule() -> None:
    """Inlined: cos at x and x + 1, sin at y and y + 1, four roots; their sums, and three more."""
    pipe = _trig()
    n = 2048 * 2048
    found = groups(Batch.of(pipe, Schedule.default(pipe)).features)
    assert found == Groups(mem=0, loads=0, stores=0, arith=(2 + 4 + 3) * n, math=8 * n)
    assert float(Weighted().cost(Batch.of(pipe, Schedule.default(pipe)))) == 89 * n


def test_groups_at_root() -> None:
    pipe = _trig()
    n, halo = 2048 * 2048, 2049 * 2049
    found = groups(Batch.of(pipe, schedule(pipe).func("g").compute_root().schedule).features)
    assert found == Groups(
        mem=4 * halo, loads=4 * n, stores=halo, arith=halo + 3 * n, math=3 * halo
    )


def test_redundant_work_costs() -> None:
    """Small tiles recompute their borders. (Prefetchers follow the rows of both.)"""
    pipe = blur()
    overlapping = schedule(pipe, tiled(pipe)).func("blur_x")
    overlapping = overlapping.store_at("blur_y", "x").compute_at("blur_y", "x")
    batch = Batch.of(pipe, overlapping.schedule, {"TX": [64, 64], "TY": [2, 16]})
    for model in (Weighted(), Reuse(FOUR_CORES)):
        small, large = model.cost(batch)
        assert small > large


def test_rows_beat_columns() -> None:
    """What [TOY] could not see: a column-major traversal has poor locality."""
    pipe = blur()
    rows = schedule(pipe).func("blur_x").compute_root().schedule
    columns = schedule(pipe, rows).func("blur_x").reorder("y", "x").schedule
    sizes = {**pipe.sizes(), "blur_y.extent.0": 8192, "blur_y.extent.1": 8192}
    by_rows, by_columns = (
        float(Reuse(FOUR_CORES).cost(Batch.of(pipe, s, sizes=sizes))) for s in (rows, columns)
    )
    assert by_rows * 1.5 < by_columns


def test_threads_and_lanes_help() -> None:
    pipe = blur()
    serial = schedule(pipe)
    lanes = serial.vectorize("x", 16)
    threads = lanes.parallel("y", 32)
    costs = [
        float(Reuse(FOUR_CORES).cost(Batch.of(pipe, s.schedule))) for s in (serial, lanes, threads)
    ]
    assert costs[0] > 3 * costs[1]
    assert costs[1] > 1.5 * costs[2]


def test_threads_share_evenly_or_wait() -> None:
    """5 tasks take 4 cores as long as 8."""
    pipe = blur()
    strips = schedule(pipe).split("y", "y", "yi", "T").parallel("y").schedule
    sizes = {**pipe.sizes(), "blur_y.extent.1": 4000}
    five, eight = Reuse(FOUR_CORES).cost(Batch.of(pipe, strips, {"T": [800, 500]}, sizes))
    assert five > eight * 1.2
