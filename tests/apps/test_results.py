"""Every hand-written schedule gives the results of the algorithm, here and in Halide itself.

The sizes divide by no tile, and coordinates of outputs do not begin at 0.
"""

import functools
import importlib

import numpy as np
import pytest

from apps.arguments import shapes
from apps.catalog import APPS
from backend.compile import compile_cpu
from backend.compile_gpu import compile_gpu
from backend.cuda.emulator import Emulator
from backend.cuda.errors import CudaUnavailable
from tests.apps.cases import WHOLE, assert_same, case, crop, embedded, reference, written
from tests.backend.guarded_scratch import compile_guarded, run_poisoned

HEIGHT, WIDTH = 83, 307
LONG = {
    *("interpolate", "local_laplacian", "stencil_chain"),
    *("bgu", "depthwise_conv", "learned_demosaic", "lens_blur", "nl_means"),
    *("pyramid_blend", "vdsr"),
}
"""Apps that other modules of tests run, with fewer stages or pixels."""
SHORT = [name for name in APPS if name not in LONG]
CPU = [
    pytest.param(name, stem, id=f"{name}-{stem}")
    for name, app in APPS.items()
    for stem in app.schedules
    if stem != "gpu" and name not in LONG
]


@functools.cache
def compiled(name, stem):
    return compile_cpu(*written(name, stem), threads=2)


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_compiled_for_the_cpu(name, stem):
    _, inputs, sizes = case(name, HEIGHT, WIDTH)
    actual = compiled(name, stem).run(inputs, sizes=sizes)
    assert_same(name, actual, reference(name, HEIGHT, WIDTH))


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_a_crop_of_the_output_from_arrays_with_gaps(name, stem):
    pipeline, inputs, sizes = case(name, HEIGHT, WIDTH)
    (output,) = pipeline.outputs
    cropped = {output: crop(sizes[output], WHOLE.get(name, ()))}
    strided = {image: embedded(array) for image, array in inputs.items()}
    actual = compiled(name, stem).run(strided, sizes=cropped)
    inside = tuple(
        slice(part - low, part - low + extent)
        for (part, extent), (low, _) in zip(
            reversed(cropped[output]), reversed(sizes[output]), strict=True
        )
    )
    whole = reference(name, HEIGHT, WIDTH)[output]
    assert_same(name, actual, {output: np.ascontiguousarray(whole[inside])})


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_no_scratch_memory_is_touched_beyond_what_was_written(name, stem):
    _, inputs, sizes = case(name, HEIGHT, WIDTH)
    under_guard = compile_guarded(*written(name, stem), threads=2)
    actual = run_poisoned(under_guard, inputs, sizes=sizes)
    assert_same(name, actual, reference(name, HEIGHT, WIDTH))


# Those whose algorithm does not depend on where a picture begins.
MOVED = ("blur", "unsharp", "harris", "bilateral_grid", "conv_layer")


@pytest.mark.parametrize("name", MOVED)
def test_pictures_may_begin_anywhere(name):
    _, inputs, sizes = case(name, HEIGHT, WIDTH)
    along = (1, 2) if name == "conv_layer" else (0, 1)
    moves = dict(zip(along, (-16, 40), strict=True))

    def moved(ranges):
        return tuple((low + moves.get(d, 0), extent) for d, (low, extent) in enumerate(ranges))

    ranges = {**sizes, "input": shapes(inputs)["input"]}
    actual = compiled(name, "cpu").run(inputs, sizes={k: moved(r) for k, r in ranges.items()})
    assert_same(name, actual, reference(name, HEIGHT, WIDTH))


@pytest.mark.parametrize("name", SHORT)
def test_compiled_for_a_gpu_and_executed_on_the_cpu(name):
    _, inputs, sizes = case(name, 43, 137)
    compiled = compile_gpu(*written(name, "gpu"))
    for order in ("forward", "reverse"):
        actual = compiled.run(inputs, sizes=sizes, executor=Emulator(order=order))
        assert_same(name, actual, reference(name, 43, 137))


@pytest.mark.parametrize("name", SHORT)
def test_a_gpu_kernel_takes_what_the_rules_assume(name):
    compiled = compile_gpu(*written(name, "gpu"), "sm_80")
    try:
        resources = compiled.resources()
    except CudaUnavailable as error:
        pytest.skip(str(error))
    for kernel in compiled.kernels:
        taken = resources[kernel.name]
        assert taken.shared_bytes == kernel.static_shared_bytes
        assert taken.spill_store_bytes == taken.spill_load_bytes == 0
        assert taken.registers * np.prod(kernel.block) <= 65536


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_halide_under_the_same_schedule(name, stem):
    pytest.importorskip("halide", reason="the extra `halide` is not installed")
    bridge = importlib.import_module("backend.halide.bridge")
    _, inputs, sizes = case(name, HEIGHT, WIDTH)
    peer = bridge.build(*written(name, stem))
    actual = peer.realize(inputs, sizes=sizes, target=bridge.STRICT)
    assert_same(name, actual, reference(name, HEIGHT, WIDTH))
