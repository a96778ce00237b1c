"""What a thread of a GPU keeps in registers, what it keeps in local memory, and what this costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.nvrtc import available_archs
from spaces.constraints.devices.device import device
from spaces.constraints.devices.peaks import Peaks
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.gpu import occupancy
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.cost.simple.roofline import Roofline
from spaces.features.thread_code import BASE, ThreadCode, registers_available, thread_code
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.draw_counts import examples

SM_90 = device("sm_90")

try:
    MISSING = "" if available_archs() else "NVRTC compiles for nothing"
except CudaUnavailable as error:
    MISSING = str(error)


def _product() -> Pipeline:
    """A product of two matrices whose sums are a Func of their own."""
    x, y = Var("x"), Var("y")
    a, b = ImageParam(Float32, 2, "a"), ImageParam(Float32, 2, "b")
    k = RDom([(0, a.width())], "k")
    sums, out = Func("sums"), Func("out")
    sums[x, y] = 0.0
    sums[x, y] += a[k, y] * b[x, k]
    out[x, y] = sums[x, y] * 2.0
    size = [512, 512]
    return pipeline(out, estimates={out: size, a: size, b: size})


def _blocked(pipe: Pipeline, width: int, height: int, threads: int = 8) -> Schedule:
    """A thread adds up so many sums in its registers."""
    return parse_schedule(
        f"out.tile(x, y, xo, yo, xi, yi, {threads * width}, {16 * height})"
        f".tile(xi, yi, xu, yu, {width}, {height})"
        ".gpu_blocks(xo, yo).gpu_threads(xi, yi).unroll(xu).unroll(yu)\n"
        "sums.compute_at(out, xi).unroll(x).unroll(y)\n"
        "sums.update().reorder(x, y, k).unroll(x).unroll(y)",
        pipe,
    )


def _code(pipe: Pipeline, schedule: Schedule) -> ThreadCode:
    features = Batch.of(pipe, schedule).features
    (kernel,) = features.kernels
    return thread_code(features, (kernel.func, kernel.stage))


def test_sums_stay_in_registers_and_factors_are_loaded_early() -> None:
    """A thread of 4 x 3 sums reads 3 values of a, each in a line of its own, and 4 neighbors of b
    in one line. An address takes two registers.
    """
    pipe = _product()
    code = _code(pipe, _blocked(pipe, 4, 3))
    assert (code.kept, code.early) == (4 * 3, (3 + 3 * 2) + (4 + 2))
    assert code.registers == BASE + 12 + 15
    assert code.in_memory("sums", available=64) == 0


def test_values_that_copies_share_are_loaded_once() -> None:
    """Four pairs and one value more, in one line."""
    x, y = Var("x"), Var("y")
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    out[x, y] = image[2 * x, y] + image[2 * x + 1, y] + image[2 * x + 2, y]
    pipe = pipeline(out, estimates={out: [512, 4096]})
    code = _code(
        pipe, parse_schedule("out.split(x, x, xu, 4).unroll(xu).gpu_tile(x, xi, 64)", pipe)
    )
    assert code.early == 2 * 4 + 1 + 2


def test_an_index_that_a_loop_moves_is_in_local_memory() -> None:
    """Compilers know the trips of an inner loop of a split, and write it out; not those over a
    whole dimension.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    row, out = Func("row"), Func("out")
    row[x, y] = image[x, y] * 2.0
    out[x, y] = row[x, y] + row[x + 1, y]
    pipe = pipeline(out, estimates={out: [512, 4096]})
    long = parse_schedule("out.gpu_tile(y, yi, 64)\nrow.compute_at(out, yi)", pipe)
    short = parse_schedule(
        "out.split(x, x, xi, 8).reorder(xi, y, x).gpu_blocks(x).gpu_threads(y)\n"
        "row.compute_at(out, y)",
        pipe,
    )
    assert _code(pipe, long).in_memory("row", available=64) == 1
    assert _code(pipe, short).in_memory("row", available=64) == 0
    assert _code(pipe, short).in_memory("image", available=64) == 0


@pytest.mark.parametrize(
    ("threads", "registers"), [(1024, 64), (1000, 64), (512, 128), (672, 96), (256, 255), (1, 255)]
)
def test_a_block_shares_the_registers_of_its_multiprocessor(threads: int, registers: int) -> None:
    """65,536 registers, handed to whole warps in multiples of 8 a thread; at most 255."""
    assert registers_available(SM_90, threads) == registers


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 4), st.integers(0, 4))
def test_more_sums_never_take_fewer_registers(
    width: int, height: int, wider: int, higher: int
) -> None:
    pipe = _product()
    less = _code(pipe, _blocked(pipe, width, height))
    more = _code(pipe, _blocked(pipe, width + wider, height + higher))
    assert less.registers <= more.registers
    assert less.instructions <= more.instructions
    assert less.in_memory("sums", 64) <= more.in_memory("sums", 64)


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(16, 255), st.integers(0, 200))
def test_more_registers_never_cost_less(counted: int, more: int) -> None:
    pipe = _product()
    batch = Batch.of(pipe, _blocked(pipe, 4, 4))
    model = OccupancyModel.of(SM_90)
    few, many = (
        float(model.with_registers({("out", 0): number}).cost(batch))
        for number in (counted, min(counted + more, 255))
    )
    assert few <= many


def test_a_block_has_no_more_registers_than_there_are() -> None:
    """1024 threads run with 64 registers each, however many they need."""
    pipe = _product()
    batch = Batch.of(pipe, _blocked(pipe, 4, 4, 64))
    model = OccupancyModel.of(SM_90)
    costs = {
        float(model.with_registers({("out", 0): counted}).cost(batch)) for counted in (64, 65, 255)
    }
    assert len(costs) == 1


@pytest.mark.parametrize("model", [OccupancyModel.of(SM_90), Roofline.of(SM_90)])
def test_sums_without_a_register_cost_more(
    model: OccupancyModel | Roofline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 x 16 threads have 64 registers each: not enough for 8 x 8 sums. 8 x 16 threads have."""
    pipe = _product()
    spilling, small = (_blocked(pipe, 8, 8, threads) for threads in (64, 8))
    assert _code(pipe, spilling).in_memory("sums", registers_available(SM_90, 1024)) > 0
    assert _code(pipe, small).in_memory("sums", registers_available(SM_90, 128)) == 0
    costs = [float(model.cost(Batch.of(pipe, one))) for one in (spilling, small)]
    monkeypatch.setattr(ThreadCode, "in_memory", lambda *_: 0)
    without = [float(model.cost(Batch.of(pipe, one))) for one in (spilling, small)]
    assert costs[0] > 1.01 * without[0]
    assert costs[1] == without[1]


def test_an_access_to_local_memory_is_an_operation_and_moves_a_word() -> None:
    """The seconds that local memory adds where only operations take time, and where only bytes."""
    pipe = _product()
    batch = Batch.of(pipe, _blocked(pipe, 8, 8, 64))

    def local(operations: float, moved_bytes: float) -> float:
        peaks = Peaks(
            product="none", operations_per_second=operations, bytes_per_second=moved_bytes
        )
        spilling = float(Roofline(SM_90, peaks).cost(batch))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ThreadCode, "in_memory", lambda *_: 0)
            return spilling - float(Roofline(SM_90, peaks).cost(batch))

    assert local(math.inf, 1.0) == pytest.approx(4 * local(1.0, math.inf))
    assert local(1.0, math.inf) > 0


def test_code_that_no_cache_holds_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = _product()
    batch = Batch.of(pipe, _blocked(pipe, 8, 8))
    model = OccupancyModel.of(SM_90)
    cached = float(model.cost(batch))
    monkeypatch.setattr(occupancy, "CACHED_INSTRUCTIONS", 100)
    assert float(model.cost(batch)) > cached


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.parametrize(
    ("width", "height", "threads", "spills"),
    [(5, 8, 64, False), (6, 8, 64, True), (10, 10, 32, False), (8, 8, 64, True)],
)
def test_sums_spill_where_the_compiler_spills_them(
    width: int, height: int, threads: int, spills: bool
) -> None:
    """Blocks of 1024 threads with 40 to 64 sums each, and of 512 threads with 100."""
    pipe = _product()
    schedule = _blocked(pipe, width, height, threads)
    available = registers_available(SM_90, 16 * threads)
    assert (_code(pipe, schedule).in_memory("sums", available) > 0) == spills
    (resources,) = compile_gpu(verify(pipe, schedule, SM_90)).resources().values()
    assert (resources.spill_store_bytes > 0) == spills


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_estimates_rank_like_the_compiler() -> None:
    """Registers and instructions of threads with 1 to 64 sums."""
    pipe = _product()
    shapes = [(1, 1), (2, 2), (4, 2), (4, 4), (8, 4), (8, 8)]
    estimated, counted = [], []
    for width, height in shapes:
        schedule = _blocked(pipe, width, height)
        estimated.append(float(_code(pipe, schedule).registers))
        verdict = verify(pipe, schedule, SM_90)
        assert verdict
        (resources,) = compile_gpu(verdict).resources().values()
        assert resources.spill_store_bytes == resources.stack_bytes == 0
        counted.append(resources.registers)
    assert np.all(np.diff(counted) >= 0)
    assert np.all(np.diff(estimated) > 0)
    ratios = np.array(estimated) / counted
    assert ratios.min() > 0.5
    assert ratios.max() < 2
