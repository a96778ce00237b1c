"""Apps of very many stages: every schedule gives the result of the algorithm, most of them with
fewer stages; and what the camera pipe and the local Laplacian filter leave as it is.
"""

import importlib
from functools import cache

import numpy as np
import pytest

from apps import camera_pipe, interpolate, local_laplacian, stencil_chain
from apps.arguments import shapes
from apps.photographs import photograph
from backend.compile import compile_cpu
from backend.compile_gpu import compile_gpu
from backend.cuda.emulator import Emulator
from backend.reference import evaluate
from spaces.constraints.devices import device
from spaces.constraints.verify import verify
from tests.apps.cases import crop, embedded
from tests.apps.small_runs import SmallRun

PIPELINES = {
    "interpolate": lambda: (interpolate, interpolate.pipeline(levels=6), 107, 75),
    "local_laplacian": lambda: (local_laplacian, local_laplacian.pipeline(levels=4), 91, 70),
    "whole_laplacian": lambda: (local_laplacian, local_laplacian.pipeline(), 201, 150),
    "stencil_chain": lambda: (stencil_chain, stencil_chain.pipeline(), 407, 663),
    "short_chain": lambda: (stencil_chain, stencil_chain.pipeline(stencils=4), 107, 75),
}
"""Module, pipeline, and width and height of a photograph."""

CUT = {"local_laplacian": 1, "whole_laplacian": 1}
"""By how much integers cut off from floats may differ: two libraries round exponentials."""

CPU = [
    *[(name, stem) for name in ("interpolate", "local_laplacian") for stem in ("cpu", "default")],
    *[("stencil_chain", "cpu"), ("short_chain", "default")],
]


@cache
def run(name):
    """A part of the output, of a photograph whose pixels have gaps."""
    module, pipeline, width, height = PIPELINES[name]()
    inputs = module.APP.inputs(pipeline, photograph(width, height))
    sizes = module.APP.sizes(pipeline, shapes(inputs))
    cropped = {output: crop(ranges) for output, ranges in sizes.items()}
    strided = {image: embedded(array) for image, array in inputs.items()}
    return SmallRun(module.APP.name, pipeline, strided, cropped)


def assert_same(name, actual):
    expected = run(name).reference["output"]
    assert np.unique(expected).size > 50
    if name in CUT:
        apart = np.abs(actual["output"].astype(np.int64) - expected.astype(np.int64))
        assert apart.max() <= CUT[name]
    else:
        np.testing.assert_array_equal(actual["output"], expected)


@pytest.mark.parametrize(("name", "stem"), [*CPU, ("whole_laplacian", "cpu")])
def test_compiled_for_the_cpu(name, stem):
    small = run(name)
    verdict = verify(small.pipeline, small.schedule(stem), device("cpu"))
    assert verdict.legal, str(verdict)
    compiled = compile_cpu(small.pipeline, verdict, threads=2)
    assert_same(name, compiled.run(small.inputs, sizes=small.sizes))


@pytest.mark.parametrize("name", ["interpolate", "local_laplacian", "short_chain"])
def test_compiled_for_a_gpu_and_executed_on_the_cpu(name):
    small = run(name)
    compiled = compile_gpu(small.pipeline, small.schedule("gpu"))
    for order in ("forward", "reverse"):
        executor = Emulator(order=order)
        assert_same(name, compiled.run(small.inputs, sizes=small.sizes, executor=executor))


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_halide_under_the_same_schedule(name, stem):
    pytest.importorskip("halide", reason="the extra `halide` is not installed")
    bridge = importlib.import_module("backend.halide.bridge")
    small = run(name)
    peer = bridge.build(small.pipeline, small.schedule(stem))
    assert_same(name, peer.realize(small.inputs, sizes=small.sizes, target=bridge.STRICT))


def random(shape, high):
    return np.random.default_rng(7).integers(0, high, shape).astype(np.uint16)


def test_a_gray_mosaic_stays_gray_under_an_identity_of_colors(monkeypatch):
    identity = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
    monkeypatch.setattr(camera_pipe, "WARM", identity)
    monkeypatch.setattr(camera_pipe, "COLD", identity)
    mosaic = np.full((20 + 24, 30 + 32), 400, np.uint16)
    scalars = {"gamma": 1.0, "contrast": 0.0}
    picture = evaluate(
        camera_pipe.pipeline(), {"input": mosaic}, scalars, sizes={"output": [30, 20, 3]}
    )["output"]
    # 255 * (400 - 25) / (1023 - 25) = 95.8, and the gamma and contrast chosen bend nothing.
    assert np.unique(picture).tolist() == [96]


def test_without_effect_the_local_laplacian_gives_a_gray_image_back():
    pipeline = local_laplacian.pipeline(levels=3, intensities=3)
    image = np.repeat(random((1, 20, 24), 65536), 3, axis=0)
    scalars = {"alpha": 0.0, "beta": 1.0}
    picture = evaluate(pipeline, {"input": image}, scalars, sizes={"output": [24, 20, 3]})["output"]
    assert np.abs(picture.astype(np.int64) - image).max() <= 2
