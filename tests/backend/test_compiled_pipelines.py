"""Compiled pipelines as values: they are called, pickled, and take the sizes that a call leaves out
from estimates.
"""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from spaces import (
    ArgumentError,
    Float32,
    Func,
    ImageParam,
    Param,
    Pipeline,
    Var,
    device,
    parse_schedule,
    pipeline,
    verify,
)
from spaces.backend.access import AccessMode
from spaces.backend.compile import CompiledPipeline, compile_cpu, compile_cpu_unchecked
from spaces.backend.compile_gpu import compile_gpu, compile_gpu_unchecked
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate

X, Y = Var("x"), Var("y")
IMAGE = np.arange(20 * 12, dtype=np.float32).reshape(12, 20)


def sharpened() -> Pipeline:
    image, gain = ImageParam(Float32, 2, "im"), Param(Float32, "gain", 2.0)
    near, out = Func("near"), Func("out")
    near[X, Y] = (image[X - 1, Y] + image[X + 1, Y]) * 0.5
    out[X, Y] = image[X, Y] + gain * (image[X, Y] - near[X, Y])
    return pipeline(out, estimates={out: [18, 12], image: [(-1, 20), 12]})


ALGORITHM = sharpened()
ON_CPU = "near.compute_at(out, y).vectorize(x, 8); out.vectorize(x, 8, GuardWithIf).parallel(y);"
ON_GPU = "out.gpu_tile(x, y, xi, yi, 8, 8, GuardWithIf);"


def on_cpu(**modes: object) -> CompiledPipeline:
    checked = verify(ALGORITHM, parse_schedule(ON_CPU, ALGORITHM), device("cpu"))
    return compile_cpu(checked, **modes)


def on_gpu(**modes: object) -> GpuPipeline:
    checked = verify(ALGORITHM, parse_schedule(ON_GPU, ALGORITHM), device("sm_80"))
    return compile_gpu(checked, **modes)


@pytest.mark.parametrize("make", [on_cpu, on_gpu])
def test_sizes_come_from_the_call_then_from_arrays_then_from_estimates(make: object) -> None:
    compiled = make()
    as_estimated = {"out": [18, 12], "im": [(-1, 20), (0, 12)]}
    expected = evaluate(ALGORITHM, {"im": IMAGE}, None, as_estimated)["out"]
    np.testing.assert_array_equal(compiled({"im": IMAGE})["out"], expected)
    np.testing.assert_array_equal(evaluate(ALGORITHM, {"im": IMAGE})["out"], expected)
    # An image begins at 0 where a call gives the size of every output.
    given = compiled({"im": IMAGE}, {"gain": 0.5}, {"out": [(1, 16), 4]})["out"]
    assert given.shape == (4, 16)
    np.testing.assert_array_equal(
        given, evaluate(ALGORITHM, {"im": IMAGE}, {"gain": 0.5}, {"out": [(1, 16), 4]})["out"]
    )
    into = np.zeros((6, 16), np.float32)
    found = compiled({"im": IMAGE}, sizes={"im": [(-1, 20), 12]}, out={"out": into})
    assert found["out"] is into
    np.testing.assert_array_equal(into, expected[:6, :16])
    with pytest.raises(ArgumentError, match=r"has the extents \[5, 4\]"):
        compiled({"im": IMAGE}, sizes={"out": [5, 4]}, out={"out": into})


@pytest.mark.parametrize("make", [on_cpu, on_gpu])
def test_an_image_unlike_its_estimate_is_refused_in_words(make: object) -> None:
    with pytest.raises(SizeError) as caught:
        make()({"im": IMAGE[:, :9]})
    said = str(caught.value)
    assert "The call gives no sizes=, so those estimated count: out is [(0, 18), (0, 12)]." in said
    with pytest.raises(SizeError) as caught:
        make()({"im": IMAGE[:, :9]}, sizes={"out": [18, 12]})
    assert "estimated" not in str(caught.value)


def test_what_the_pipeline_says_comes_before_its_estimate() -> None:
    out = Func("out")
    out[X] = X
    out.output_buffer().dim(0).set_extent(5)
    algorithm = pipeline(out, estimates={out: [(3, 5)]})
    checked = verify(algorithm, parse_schedule("", algorithm), device("cpu"))
    assert compile_cpu(checked)({})["out"].tolist() == [0, 1, 2, 3, 4]


MAKERS = {
    "cpu": lambda: on_cpu(threads=3, float_mode=FloatMode.CONTRACT),
    "cpu hardened": lambda: on_cpu(access_mode=AccessMode.HARDENED),
    "cpu unchecked": lambda: compile_cpu_unchecked(ALGORITHM, parse_schedule(ON_CPU, ALGORITHM)),
    "gpu": lambda: on_gpu(arch="sm_90", access_mode=AccessMode.HARDENED),
    "gpu unchecked": lambda: compile_gpu_unchecked(ALGORITHM, parse_schedule(ON_GPU, ALGORITHM)),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("way", [lambda c: pickle.loads(pickle.dumps(c)), copy.copy, copy.deepcopy])
def test_a_pickled_one_is_compiled_again(name: str, way: object) -> None:
    original = MAKERS[name]()
    again = way(original)
    assert type(again) is type(original)
    assert (again.pipeline, again.schedule) == (original.pipeline, original.schedule)
    assert again.access_mode is original.access_mode
    assert [p.condition for p in again.preconditions] == [
        p.condition for p in original.preconditions
    ]
    if isinstance(original, CompiledPipeline):
        assert again.pool.threads == original.pool.threads
        assert again.llvm_ir() == original.llvm_ir()
    else:
        assert (again.arch, again.source) == (original.arch, original.source)
    np.testing.assert_array_equal(again({"im": IMAGE})["out"], original({"im": IMAGE})["out"])
    assert len(pickle.dumps(original)) < 20_000


def called(compiled: CompiledPipeline | GpuPipeline) -> np.ndarray:
    return compiled({"im": IMAGE})["out"]


def test_other_processes_compile_it_for_themselves() -> None:
    both = [on_cpu(), on_gpu()]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(called, both)
    for values, compiled in zip(found, both, strict=True):
        np.testing.assert_array_equal(values, called(compiled))
