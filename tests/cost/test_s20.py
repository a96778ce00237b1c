"""The K-H-W-Z example of [S20], section 3, and Listing 1 on it."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.constraints.devices.device import device
from spaces.cost.batch import Batch
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.features.extraction import extract_features
from spaces.features.in_kernels import stage_threads
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import Float32

SM_75 = device("sm_75")


def _khwz(width: int = 1536, height: int = 1536):
    """[S20] Fig. 2(a); stage E is an image here."""
    x, y, c = Var("x"), Var("y"), Var("c")
    e = ImageParam(Float32, 2, "E")
    k, h, w, z = Func("K"), Func("H"), Func("W"), Func("Z")
    k[x, y, c] = e[x, y] + e[x + 1, y] + e[x + 2, y]
    h[x, y] = e[x, y] * 4
    w[x, y] = k[x, y, 0] + k[x, y, 1] + k[x, y, 2] + 2 * h[x, y]
    z[x, y] = w[x, y - 2] + w[x, y - 1] + w[x, y] + w[x, y + 1] + w[x, y + 2]
    return pipeline(z, estimates={z: [width, height], e: [width + 2, height + 4]})


def _nested(pipe, tx: int | str, ty: int | str):
    """Fig. 4: W in shared memory at the blocks of Z, K inside the threads of W, H inlined."""
    tiled = schedule(pipe).gpu_tile("x", "y", "xo", "yo", "xi", "yi", tx, ty)
    shared = tiled.func("W").compute_at("Z", "xo").gpu_threads("x", "y")
    return shared.func("K").compute_at("W", "x").unroll("c").schedule


def test_a_producer_widens_the_block() -> None:
    pipe = _khwz()
    (kernel,) = extract_features(pipe, _nested(pipe, 32, 12)).read_ints(pipe.sizes()).kernels
    assert kernel.block == (32, 16, 1)
    assert kernel.threads == 512
    assert kernel.shared_bytes == 2048
    assert kernel.blocks == (1536 // 32) * (1536 // 12)


def test_the_multiprocessor_is_full() -> None:
    pipe = _khwz()
    (kernel,) = extract_features(pipe, _nested(pipe, 32, 12)).read_ints(pipe.sizes()).kernels
    model = OccupancyModel(SM_75, registers_per_thread=64)
    assert model.occupancy(kernel, kernel.threads) == 1.0


def test_sharing_k_too_takes_three_times_the_room() -> None:
    pipe = _khwz()
    nested = _nested(pipe, 32, 12)
    shared = schedule(pipe, nested).func("K").compute_at("Z", "xo").gpu_threads("x", "y").schedule
    (kernel,) = extract_features(pipe, shared).read_ints(pipe.sizes()).kernels
    assert kernel.block == (32, 16, 1)
    assert kernel.shared_bytes == 2048 + 3 * 2048


def test_only_members_with_threads_keep_them_busy() -> None:
    pipe = _khwz()
    found = extract_features(pipe, _nested(pipe, 32, 12)).read_ints(pipe.sizes())
    assert stage_threads(found.func("Z").stages[0]) == 32 * 12
    assert stage_threads(found.func("W").stages[0]) == 32 * 16


@pytest.mark.parametrize(
    ("tx", "ty", "fits"),
    [
        (32, 12, True),
        (32, 60, False),  # 32 x 64 = 2048 threads
        (33, 12, True),  # 33 x 16 = 528 threads are no whole number of warps
        (768, 1, False),  # 768 x 5 threads
        (32, 28, True),  # 32 x 32 = 1024
    ],
)
def test_only_configurations_that_do_not_fit_cost_infinitely_much(
    tx: int, ty: int, fits: bool
) -> None:
    pipe = _khwz()
    batch = Batch.of(pipe, _nested(pipe, "TX", "TY"), {"TX": [tx], "TY": [ty]})
    cost = OccupancyModel(SM_75).cost(batch)
    assert cost.shape == (1,)
    assert np.isfinite(cost[0]) == fits


def _rows(threads: int, values: int = 4096 * 31 * 32) -> tuple[float, float]:
    """The cost of one operation a value by blocks of so many threads in a row, and that of full
    warps that run as many blocks.
    """
    x = Var("x")
    f = Func("f")
    f[x] = x + 1
    pipe = pipeline(f, estimates={f: [values]})
    blocks = [schedule(pipe).gpu_tile("x", "xi", n).schedule for n in (threads, 32)]
    model = OccupancyModel(device("sm_90"), latency=0.0, launch=0.0, block=0.0)
    return tuple(float(model.cost(Batch.of(pipe, one))) for one in blocks)  # type: ignore[return-value]


@pytest.mark.parametrize("threads", [1, 2, 8, 16, 31])
def test_the_empty_lanes_of_a_warp_are_lost_throughput(threads: int) -> None:
    """Each warp takes the place of a full one: a block of n threads does n / 32 of its work."""
    partly, full = _rows(threads)
    assert full < partly < np.inf
    assert partly == pytest.approx(full * 32 / threads)


def test_idle_multiprocessors_are_lost_throughput() -> None:
    """A layer of 64 x 64 x 8 in 128 blocks leaves 4 of 132 multiprocessors idle.

    By hand: 64 registers for each of 256 threads make 4 blocks, 1024 of 2048 threads. One
    operation a value, and one load and one store for each 32 values.
    """
    sm_90 = device("sm_90")
    assert (sm_90.sm_count, sm_90.max_threads_per_sm, sm_90.registers_per_sm) == (132, 2048, 65536)
    x, y, c = Var("x"), Var("y"), Var("c")
    image, f = ImageParam(Float32, 3, "image"), Func("f")
    f[x, y, c] = image[x, y, c] + 1.0
    pipe = pipeline(f, estimates={f: [64, 64, 8]})
    tiles = schedule(pipe).gpu_tile("x", "y", "xi", "yi", 32, 8).gpu_blocks("x", "y", "c").schedule
    model = OccupancyModel(sm_90, global_load=40.0, latency=0.0, launch=0.0, block=0.0)
    values, at_a_time = 64 * 64 * 8, 0.5 * 1024
    expected = (values + values * (40 / 32 + 40 / 32)) / at_a_time * (132 / 128)
    assert float(model.cost(Batch.of(pipe, tiles))) == pytest.approx(expected)


def test_more_blocks_than_multiprocessors_are_no_gain_in_themselves() -> None:
    pipe = _khwz(width=128, height=128)
    batch = Batch.of(pipe, _nested(pipe, "TX", "TY"), {"TX": [32, 8], "TY": [12, 4]})
    costs = OccupancyModel(SM_75).cost(batch)  # 44 and 512 blocks for 68 multiprocessors
    assert np.isfinite(costs).all()


def test_fusing_beats_a_kernel_for_each_stage() -> None:
    pipe = _khwz()
    apart = schedule(pipe).gpu_tile("x", "y", "xo", "yo", "xi", "yi", 32, 8)
    for name in ("W", "H"):
        apart = apart.func(name).compute_root().gpu_tile("x", "y", "xo", "yo", "xi", "yi", 32, 8)
    apart = apart.func("K").compute_root().gpu_tile("x", "y", "xo", "yo", "xi", "yi", 32, 8)
    model = OccupancyModel(SM_75)
    separate = model.cost(Batch.of(pipe, apart.schedule))
    tiles = {"TX": [32], "TY": [4, 12, 28]}
    fused = model.cost(Batch.of(pipe, _nested(pipe, "TX", "TY"), tiles))
    assert fused.min() < separate


def test_the_cpu_has_no_occupancy() -> None:
    with pytest.raises(ValueError, match="'occupancy' is for GPUs"):
        OccupancyModel.of(device("cpu"))


def test_what_threads_keep_to_themselves_is_free() -> None:
    """K is read by the thread that computed it; nothing is in shared memory."""
    pipe = _khwz()
    apart = schedule(pipe).gpu_tile("x", "y", "xo", "yo", "xi", "yi", 32, 8).func("W")
    apart = apart.compute_root().gpu_tile("x", "y", "xo", "yo", "xi", "yi", 32, 8)
    private = apart.func("K").compute_at("W", "xi").schedule
    cheap, dear = (
        float(OccupancyModel(SM_75, shared_load=price).cost(Batch.of(pipe, private)))
        for price in (0.0, 100.0)
    )
    assert cheap == dear
    shared = _nested(pipe, 32, 12)
    cheap, dear = (
        float(OccupancyModel(SM_75, shared_load=price).cost(Batch.of(pipe, shared)))
        for price in (0.0, 100.0)
    )
    assert cheap < dear


def test_a_thread_alone_keeps_nothing_busy() -> None:
    """W for a whole block by one thread, instead of by one thread a value."""
    pipe = _khwz()
    together = _nested(pipe, 32, 12)
    alone = schedule(pipe, together).func("W").serial("x").serial("y").schedule
    model = OccupancyModel(SM_75)
    by_many, by_one = (float(model.cost(Batch.of(pipe, s))) for s in (together, alone))
    assert by_one > 10 * by_many


@pytest.mark.parametrize("counted", [16, 32, 64, 128])
def test_no_cost_is_below_the_least_one_whatever_the_compiler_counts(counted: int) -> None:
    """Fewer registers than are assumed let more threads run."""
    x, y = Var("x"), Var("y")
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    out[x, y] = image[x, y] + 1
    pipe = pipeline(out, estimates={out: [8192, 8192]})
    tiled = schedule(pipe).gpu_tile("x", "y", "xo", "yo", "xi", "yi", 32, 8).schedule
    model = OccupancyModel(SM_75, registers_per_thread=128, block=0)
    model = model.with_registers({("out", 0): counted})
    batch = Batch.of(pipe, tiled)
    assert float(np.min(model.least(batch.features))) <= float(model.cost(batch))
