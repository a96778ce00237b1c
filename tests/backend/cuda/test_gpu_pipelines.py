"""Compiled GPU pipelines: their text and records, their arguments, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.arguments import ArgumentError
from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.launch import GpuExecutor, gpu_available
from spaces.backend.cuda.nvrtc import available_archs
from spaces.backend.lowering.gpu.errors import GpuLoweringError
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.schedules.schedule import MemoryType, Schedule
from tests.backend.cuda import gpu_pipelines
from tests.backend.cuda.gpu_runs import check, image
from tests.backend.cuda.test_gpu_schedules import BLUR, STAGES, UNSHARP, at_block, tiled

try:
    MISSING = "" if available_archs() else "NVRTC compiles for nothing"
except CudaUnavailable as error:
    MISSING = str(error)
needs_nvrtc = pytest.mark.skipif(bool(MISSING), reason=MISSING)

AVAILABLE, REASON = gpu_available()
needs_gpu = pytest.mark.skipif(not AVAILABLE, reason=REASON)

X, Y = Var("x"), Var("y")


def large_tiles(height: int) -> tuple[Pipeline, Directives]:
    """Tiles of 64 columns of a stage of floats in shared memory."""
    source = ImageParam(Float32, 2, "input")
    first, second = Func("first"), Func("second")
    first[X, Y] = source[X, Y] * 2
    second[X, Y] = first[X, Y] + first[X, Y + 1]
    algorithm = pipeline(second)
    d = schedule(algorithm).tile("x", "y", "xi", "yi", 64, height).gpu_blocks("x", "y")
    d = d.gpu_threads("xi").func("first").compute_at("second", "x").gpu_threads("x")
    return algorithm, d


def test_a_producer_widens_the_block() -> None:
    algorithm = gpu_pipelines.blur()
    (kernel,) = compile_gpu_unchecked(algorithm, BLUR["shared"](algorithm).schedule).kernels
    assert kernel.block == (8, 6, 1)
    assert kernel.static_shared_bytes == 8 * 6 * 2


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_the_compiler_counts_the_shared_memory_that_the_schedule_asks_for(arch: str) -> None:
    # gray is 12 x 8 floats, down 12 x 4, across 8 x 4.
    algorithm = gpu_pipelines.unsharp()
    compiled = compile_gpu_unchecked(
        algorithm, UNSHARP["all shared"](algorithm).schedule, arch=arch
    )
    (resources,) = compiled.resources().values()
    assert resources.shared_bytes == (12 * 8 + 12 * 4 + 8 * 4) * 4
    assert (resources.spill_store_bytes, resources.stack_bytes) == (0, 0)
    # wide is 10 x 6 shorts, slope 8 x 6.
    algorithm = gpu_pipelines.three_stages()
    compiled = compile_gpu_unchecked(
        algorithm, STAGES["both shared"](algorithm).schedule, arch=arch
    )
    (resources,) = compiled.resources().values()
    assert resources.shared_bytes == (10 * 6 + 8 * 6) * 2
    assert compiled.kernels[0].block == (10, 6, 1)


@needs_nvrtc
def test_a_sliding_window_in_a_thread_stays_in_registers() -> None:
    algorithm = gpu_pipelines.blur()
    build = BLUR["columns in a thread"](algorithm).func("blur_y").unroll("yi")
    (resources,) = compile_gpu_unchecked(algorithm, build.schedule).resources().values()
    assert (resources.spill_store_bytes, resources.stack_bytes, resources.shared_bytes) == (0, 0, 0)


def test_promises_are_kept_in_their_types() -> None:
    algorithm = gpu_pipelines.promised_bytes()
    inputs, sizes = {"image": image(algorithm, "image", 17, 16)}, {"sums": (16, 16)}
    directives = gpu_pipelines.promised_tiles()
    compiled = check(algorithm, directives, inputs, sizes, {"byte": 60}, executors=(Emulator(),))
    for byte in (50, 200):
        with pytest.raises(ArgumentError, match=f"Here byte is {byte}"):
            compiled.run(inputs, {"byte": byte}, sizes, executor=Emulator())


def test_much_shared_memory_is_requested_at_launch() -> None:
    algorithm, directives = large_tiles(191)
    (kernel,) = compile_gpu_unchecked(algorithm, directives.schedule).kernels
    assert (kernel.static_shared_bytes, kernel.dynamic_shared_bytes) == (48 * 1024, 0)
    algorithm, directives = large_tiles(192)
    inputs = {"input": image(algorithm, "input", 70, 202)}
    compiled = check(algorithm, directives, inputs, {"second": (70, 201)}, executors=(Emulator(),))
    (kernel,) = compiled.kernels
    assert (kernel.static_shared_bytes, kernel.dynamic_shared_bytes) == (0, 64 * 193 * 4)
    if not MISSING:
        (resources,) = compiled.resources().values()
        assert resources.shared_bytes == 0


@needs_gpu
@pytest.mark.parametrize("name", BLUR)
def test_a_gpu_gives_the_bits_of_the_reference(name: str) -> None:
    algorithm = gpu_pipelines.blur()
    inputs = {"input": image(algorithm, "input", 28, 20)}
    sizes = {"blur_y": ((3, 21), (2, 15))}
    check(algorithm, BLUR[name](algorithm), inputs, sizes, executors=(GpuExecutor(),))


@needs_gpu
@pytest.mark.parametrize("name", UNSHARP)
def test_a_gpu_gives_the_bits_of_the_reference_on_floats(name: str) -> None:
    algorithm = gpu_pipelines.unsharp()
    inputs = {"input": image(algorithm, "input", 170, 110, 3)}
    sizes = {"output": (170, 110, 3)}
    check(algorithm, UNSHARP[name](algorithm), inputs, sizes, executors=(GpuExecutor(),))


def test_a_schedule_without_gpu_loops_runs_on_the_host() -> None:
    algorithm = gpu_pipelines.blur()
    inputs = {"input": image(algorithm, "input", 28, 20)}
    compiled = check(algorithm, Schedule.default(algorithm), inputs, {"blur_y": ((1, 24), (1, 12))})
    assert (compiled.source, compiled.kernels) == ("", ())


def test_three_dimensions_of_booleans() -> None:
    z = Var("z")
    source = ImageParam(UInt8, 3, "input")
    bright, both = Func("bright"), Func("both")
    bright[X, Y, z] = source[X, Y, z] > 100
    both[X, Y, z] = bright[X, Y, z] & ~bright[X + 1, Y, z]
    algorithm = pipeline(both)
    d = schedule(algorithm).gpu_tile("x", "y", "z", "xi", "yi", "zi", 4, 3, 2)
    d = d.func("bright").compute_at("both", "x").gpu_threads("x", "y", "z")
    inputs = {"input": image(algorithm, "input", 13, 9, 5)}
    (kernel,) = check(algorithm, d, inputs, {"both": (12, 9, 5)}).kernels
    assert (kernel.block, kernel.static_shared_bytes) == ((5, 3, 2), 5 * 3 * 2)


def test_arrays_of_any_strides_and_outputs_given() -> None:
    algorithm = gpu_pipelines.blur()
    compiled = compile_gpu_unchecked(algorithm, BLUR["shared"](algorithm).schedule)
    whole = image(algorithm, "input", 60, 60)
    inputs = {"input": whole[::-2, 1::2].T}
    canvas = np.zeros((40, 60), np.uint16)
    sizes = {"blur_y": ((1, 24), (1, 12))}
    outputs = compiled.run(inputs, sizes=sizes, out={"blur_y": canvas[5:29:2, 30:54]})
    expected = evaluate(algorithm, inputs, sizes=sizes)["blur_y"]
    np.testing.assert_array_equal(canvas[5:29:2, 30:54], expected)
    assert np.shares_memory(outputs["blur_y"], canvas)
    canvas[5:29:2, 30:54] = 0
    assert not canvas.any()


def test_names_of_the_language_and_its_libraries_are_kept_apart() -> None:
    source, shift = ImageParam(Int32, 2, "threadIdx"), Param(Int32, "int")
    first, second, last = Func("exp"), Func("__syncthreads"), Func("shim")
    first[X, Y] = source[X, Y] + shift
    second[X, Y] = first[X - 1, Y] + first[X + 1, Y]
    last[X, Y] = second[X, Y - 1] * second[X, Y + 1]
    algorithm = pipeline(last)
    d = at_block(at_block(tiled(algorithm, 8, 4), "__syncthreads", "shim"), "exp", "shim")
    inputs = {"threadIdx": image(algorithm, "threadIdx", 18, 14)}
    sizes = {"shim": ((1, 16), (1, 12))}
    compiled = check(algorithm, d, inputs, sizes, {"int": -5}, executors=(Emulator(),))
    if not MISSING:
        assert len(compiled.resources()) == 1


def test_an_output_that_is_too_small_for_its_tiles() -> None:
    algorithm = gpu_pipelines.blur()
    compiled = compile_gpu_unchecked(algorithm, BLUR["shared"](algorithm).schedule)
    inputs = {"input": image(algorithm, "input", 28, 20)}
    with pytest.raises(SizeError, match=r"must have at least 8 elements.*blur_y.extent.0 is 7"):
        compiled.run(inputs, sizes={"blur_y": ((1, 7), (1, 12))})
    with pytest.raises(SizeError, match="reads elements of dimension 1 of image input beyond"):
        compiled.run(inputs, sizes={"blur_y": ((1, 8), (1, 19))})


def test_parameters_may_be_infinite_or_nan() -> None:
    source, offset, out = ImageParam(Float32, 1, "input"), Param(Float32, "offset"), Func("out")
    out[X] = source[X] + offset
    algorithm = pipeline(out)
    d = schedule(algorithm).split("x", "x", "xi", 8).gpu_blocks("x").gpu_threads("xi")
    compiled, zeros = compile_gpu_unchecked(algorithm, d.schedule), np.zeros(16, np.float32)
    for value in (float("inf"), float("-inf"), float("nan")):
        found = compiled.run({"input": zeros}, {"offset": value}, {"out": (16,)})["out"]
        np.testing.assert_array_equal(found, np.full(16, value, np.float32))


def test_an_output_that_is_empty_runs_nothing() -> None:
    algorithm = gpu_pipelines.blur()
    compiled = compile_gpu_unchecked(algorithm, BLUR["shared"](algorithm).schedule)
    inputs = {"input": image(algorithm, "input", 28, 20)}
    assert compiled.run(inputs, sizes={"blur_y": (0, 12)})["blur_y"].shape == (12, 0)


def test_buffers_too_large_to_index_are_refused() -> None:
    algorithm = gpu_pipelines.blur()
    compiled = compile_gpu_unchecked(algorithm, BLUR["two kernels"](algorithm).schedule)
    wide = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint16), (50_000, 50_000), (0, 0))
    with pytest.raises(ArgumentError, match="input is too large or too far from the origin"):
        compiled.run({"input": wide}, sizes={"blur_y": ((1, 8), (1, 8))})


def test_coordinates_too_far_for_sums_of_32_bits_are_refused() -> None:
    algorithm = gpu_pipelines.blur()
    compiled = compile_gpu_unchecked(algorithm, BLUR["two kernels"](algorithm).schedule)
    far = {"blur_y": ((2**30 - 7, 8), (1, 8)), "input": ((2**30 - 9, 12), (0, 10))}
    inputs = {"input": np.zeros((10, 12), np.uint16)}
    with pytest.raises(ArgumentError, match="coordinates from -1073741824 to 1073741824"):
        compiled.run(inputs, sizes=far)


def test_dimensions_too_long_for_sums_of_32_bits_are_refused() -> None:
    """Their two ends are near enough to the origin."""
    source, out = ImageParam(UInt8, 1, "input"), Func("out")
    out[X] = source[X]
    algorithm = pipeline(out)
    d = schedule(algorithm).split("x", "x", "xi", 8).gpu_blocks("x").gpu_threads("xi")
    long = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**30 + 1,), (0,))
    sizes = {"out": ((0, 8),), "input": ((-(2**29), 2**30 + 1),)}
    with pytest.raises(ArgumentError, match="at most 1073741824 in a dimension"):
        compile_gpu_unchecked(algorithm, d.schedule).run({"input": long}, sizes=sizes)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda d: d.gpu_threads("x"), "thread loop blur_y.s0.x is not in a block loop"),
        (lambda d: d.gpu_blocks("y").gpu_threads("x"), "has no limit; split it by a number"),
        (
            lambda d: (
                d.gpu_tile("x", "y", "xi", "yi", 8, 4)
                .func("blur_x")
                .compute_at("blur_y", "xi")
                .gpu_threads("x")
            ),
            "thread loop blur_x.s0.x is inside a thread",
        ),
        (
            lambda d: (
                d.gpu_tile("x", "y", "xi", "yi", 8, 4)
                .func("blur_x")
                .compute_at("blur_y", "x")
                .store_in(MemoryType.REGISTER)
            ),
            "The schedule asks for blur_x in register, but it is stored at a block",
        ),
        (
            lambda d: (
                d.gpu_tile("x", "y", "xi", "yi", 60_000, 60_000)
                .func("blur_x")
                .compute_at("blur_y", "x")
            ),
            "60000 x 60002 = 3600120000 elements",
        ),
        (
            lambda d: d.gpu_blocks("y").func("blur_x").compute_at("blur_y", "y"),
            "blur_x is stored inside a kernel, where sizes must be known",
        ),
    ],
)
def test_schedules_that_no_kernel_can_run_are_refused_in_words(build: object, words: str) -> None:
    algorithm = gpu_pipelines.blur()
    assert callable(build)
    with pytest.raises(GpuLoweringError, match=words):
        compile_gpu_unchecked(algorithm, build(schedule(algorithm)).schedule)


def test_nothing_is_computed_between_block_loops() -> None:
    algorithm = gpu_pipelines.lookups()
    directives = tiled(algorithm, 8, 4).func("table").compute_at("looked", "y")
    words = "stands between the block loops looked.s0.y and looked.s0.x"
    with pytest.raises(GpuLoweringError, match=words):
        compile_gpu_unchecked(algorithm, directives.schedule)
