"""Barriers: as many as needed, no divergent one, and the faults without them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve

from spaces.backend.cuda.errors import SanitizerError
from spaces.backend.cuda.host import host_program
from spaces.backend.cuda.kernel import CudaModule
from spaces.backend.cuda.printer import PrintedProgram, print_kernels
from spaces.backend.cuda.program import CudaExecutor
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.ir.host import GpuProgram
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Barrier
from spaces.backend.lowering.gpu.barriers import insert_barriers
from spaces.backend.lowering.gpu.passes import gpu_passes, lower_gpu
from spaces.backend.lowering.gpu.sizes import KernelSizes
from spaces.backend.lowering.passes import Pass
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.types import UInt16
from spaces.model.nest.loopnest import loop_nest
from tests.backend.cuda import gpu_pipelines
from tests.backend.cuda.gpu_runs import ORDERS, image
from tests.backend.cuda.test_gpu_schedules import BLUR, PRODUCTS, STAGES, UNSHARP


def barriers(pipeline: Pipeline, build: Callable[[Pipeline], Directives]) -> list[int]:
    """The number of barriers in each kernel's text."""
    program = lower_gpu(loop_nest(pipeline, build(pipeline).schedule))
    return [
        sum(isinstance(s, Barrier) for s in walk_nodes(kernel.body)) for kernel in program.kernels
    ]


@pytest.mark.parametrize(
    ("build", "counts"),
    [
        (BLUR["inline"], [0]),
        (BLUR["per thread"], [0]),
        (BLUR["two kernels"], [0, 0]),
        (BLUR["shared"], [1]),
        (BLUR["shared, by one thread"], [1]),
        # One barrier between writing a row and reading it, and one before the next round overwrites
        # it.
        (BLUR["rows"], [2]),
        (BLUR["columns in a thread"], [0]),
    ],
)
def test_blur_has_the_barriers_it_needs(
    build: Callable[[Pipeline], Directives], counts: list[int]
) -> None:
    assert barriers(gpu_pipelines.blur(), build) == counts


def test_each_producer_has_its_barrier() -> None:
    assert barriers(gpu_pipelines.three_stages(), STAGES["both shared"]) == [2]
    assert barriers(gpu_pipelines.unsharp(), UNSHARP["all shared"]) == [3]


def test_a_sum_in_place_needs_no_barrier_in_its_loop() -> None:
    assert barriers(gpu_pipelines.products(), PRODUCTS["in shared memory"]) == [2]


def crossing() -> Pipeline:
    """The second stage reads values of the first stage at neighbors, in this row and the next."""
    source = ImageParam(UInt16, 2, "input")
    x, y = Var("x"), Var("y")
    first, second = Func("first"), Func("second")
    first[x, y] = source[x, y] * 3
    second[x, y] = first[x - 1, y] + first[x + 1, y] + first[x, y + 1]
    return pipeline(second)


def in_tiles(p: Pipeline) -> Directives:
    d = schedule(p).gpu_tile("x", "y", "xi", "yi", 8, 4)
    return d.func("first").compute_at("second", "x").gpu_threads("x", "y")


def in_rows(p: Pipeline) -> Directives:
    """Rows in order, with storage for two: each row overwrites the one before the last."""
    d = schedule(p).tile("x", "y", "xi", "yi", 8, 4).gpu_blocks("x", "y").gpu_threads("xi")
    d = d.func("first").compute_at("second", "yi").store_at("second", "x")
    return d.gpu_threads("x").fold_storage("y", 2)


def all_but_barriers(sizes: KernelSizes) -> tuple[Pass, ...]:
    return tuple(one for one in gpu_passes(sizes) if one is not insert_barriers)


class Crossing:
    """The pipeline under a schedule, compiled without the pass that inserts barriers."""

    def __init__(self, build: Callable[[Pipeline], Directives]) -> None:
        self.pipeline = crossing()
        nest = loop_nest(self.pipeline, build(self.pipeline).schedule)
        self.bare = self._printed(lower_gpu(nest, all_but_barriers))
        self.whole = self._printed(lower_gpu(nest))

    @staticmethod
    def _printed(program: GpuProgram) -> tuple[GpuProgram, PrintedProgram]:
        types = {buffer.name: buffer.type for buffer in program.buffers}
        return program, print_kernels(program.kernels, types)

    def is_right(self, printed: tuple[GpuProgram, PrintedProgram], executor: CudaExecutor) -> bool:
        """Whether a run on 16 by 12 elements gives the values of the reference."""
        program, texts = printed
        picture = image(self.pipeline, "input", 18, 14)
        values = {
            "second.min.0": 1,
            "second.min.1": 1,
            "second.stride.1": 16,
            "second.extent.0": 16,
            "second.extent.1": 12,
            "input.min.0": 0,
            "input.min.1": 1,
            "input.stride.1": 18,
        }
        output = np.zeros((12, 16), np.uint16)
        planned = host_program(program.body, texts, {}, values).planned
        executor.follow(texts.module, planned, {"input": picture, "second": output})
        sizes = {"second": ((1, 16), (1, 12)), "input": ((0, 18), (1, 14))}
        expected = evaluate(self.pipeline, {"input": picture}, sizes=sizes)
        return np.array_equal(output, expected["second"])


@pytest.mark.parametrize("build", [in_tiles, in_rows])
def test_without_barriers_some_order_gives_wrong_values(
    build: Callable[[Pipeline], Directives],
) -> None:
    case = Crossing(build)
    assert "__syncthreads" not in case.bare[1].module.source
    assert not all(case.is_right(case.bare, executor) for executor in ORDERS)
    assert all(case.is_right(case.whole, executor) for executor in ORDERS)


@pytest.mark.parametrize(("build", "count"), [(in_tiles, 1), (in_rows, 2)])
def test_without_any_one_barrier_there_is_a_race(
    build: Callable[[Pipeline], Directives], count: int
) -> None:
    case = Crossing(build)
    program, printed = case.whole
    sanitizer = SanitizedEmulator("thread")
    assert case.is_right(case.whole, sanitizer)
    parts = printed.module.source.split("__syncthreads();")
    assert len(parts) == count + 1
    for number in range(1, count + 1):
        text = "__syncthreads();".join([*parts[: number - 1], parts[number - 1] + parts[number]])
        text = "__syncthreads();".join([text, *parts[number + 1 :]])
        module = CudaModule(text, printed.module.kernels)
        with pytest.raises(SanitizerError, match="data race"):
            case.is_right((program, evolve(printed, module=module)), sanitizer)
