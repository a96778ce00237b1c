"""Updates of one element by threads of kernels: values that NumPy computes, in every order."""

from __future__ import annotations

import numpy as np
import pytest

import spaces
from backend.compile_gpu import compile_gpu
from backend.replay import replay
from spaces import Float32, Float64, Int32, Int64, Type, UInt32, UInt64
from spaces.model.expressions.types import type_of
from tests.backend.cuda.gpu_runs import ORDERS
from tests.backend.test_atomic import by_numpy, reduced

GPU = spaces.device("sm_90")
KERNELS = (
    "f.compute_root().update(0).atomic().gpu_tile(r.x, r.y, xi, yi, 8, 4)\n"
    "h.compute_root().update(0).atomic().gpu_tile(r.x, r.y, xi, yi, 8, 4)",
    "f.compute_root().update(0).atomic().split(r.y, yo, yi, 8).gpu_blocks(yo).gpu_threads(r.x)\n"
    "h.compute_root().update(0).atomic().gpu_blocks(r.y).gpu_threads(r.x)",
    "out.gpu_tile(x, xi, 8, TailStrategy::GuardWithIf)\nf.compute_root()\n"
    "h.compute_at(out, x).gpu_threads(x)\nh.update(0).atomic().gpu_threads(r.x)",
)


def assert_no_update_is_lost(operator: str, text: str, image: np.ndarray) -> None:
    pipeline = reduced(operator, type_of(image.dtype))
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), GPU)
    assert checked, str(checked)
    place = np.random.default_rng(2).integers(0, 5, image.shape, np.int32)
    f, h = by_numpy(operator, image, place)
    compiled = compile_gpu(pipeline, checked)
    for executor in ORDERS:
        inputs = {"input": image, "place": place}
        found = compiled.run(inputs, sizes={"out": [5]}, executor=executor)
        assert (found["out.0"] == f).all()
        assert np.array_equal(found["out.1"], h)


@pytest.mark.parametrize("text", KERNELS)
@pytest.mark.parametrize("element", [Int32, UInt32, Int64, UInt64], ids=str)
@pytest.mark.parametrize("operator", ["add", "mul", "min", "max"])
def test_threads_lose_no_update(operator: str, element: Type, text: str) -> None:
    random, info = np.random.default_rng(3), np.iinfo(element.dtype)
    image = random.integers(info.min, info.max, (40, 24), element.dtype, endpoint=True)
    assert_no_update_is_lost(operator, text, image)


@pytest.mark.parametrize("element", [Float32, Float64], ids=str)
@pytest.mark.parametrize("operator", ["add", "mul", "min", "max"])
def test_threads_lose_no_update_of_floats(operator: str, element: Type) -> None:
    # Sums of few small whole numbers, and products of signs, are exact in any order.
    choices = [-1.0, 1.0] if operator == "mul" else list(range(-9, 10))
    image = np.random.default_rng(1).choice(np.array(choices, element.dtype), (40, 24))
    assert_no_update_is_lost(operator, KERNELS[1], image)


def test_kernels_call_what_the_hardware_has() -> None:
    texts = {}
    for operator in ("add", "min", "mul"):
        pipeline = reduced(operator, Int32)
        checked = spaces.verify(pipeline, spaces.parse_schedule(KERNELS[0], pipeline), GPU)
        assert checked, str(checked)
        texts[operator] = compile_gpu(pipeline, checked).source
    assert "atomicAdd((unsigned int*)&f_buf[" in texts["add"]
    assert "atomicMin(&f_buf[" in texts["min"]
    assert "change<int, unsigned int>(&f_buf[" in texts["mul"]
    assert "atomicCAS" not in texts["add"]


@pytest.mark.parametrize("text", KERNELS)
def test_all_is_proven_and_a_replay_finds_nothing(text: str) -> None:
    pipeline = reduced("add", Int32)
    written = spaces.parse_schedule(text, pipeline)
    checked = spaces.verify(pipeline, written, GPU)
    assert checked, str(checked)
    report = spaces.prove(checked)
    assert len(report.proven) == len(report.proofs), report
    bare = spaces.parse_schedule(text.replace(".atomic()", ""), pipeline)
    racing = spaces.prove(spaces.loop_nest(pipeline, bare))
    assert {p.obligation.kind for p in racing.proofs if p not in racing.proven} == {"race"}
    ranges = {"out": [5], "input": [24, 40], "place": [24, 40]}
    sizes = {f"{b}.extent.{d}": e for b, es in ranges.items() for d, e in enumerate(es)}
    sizes |= {name.replace("extent", "min"): 0 for name in sizes}
    assert not replay(spaces.loop_nest(pipeline, written), sizes).faults


def test_short_words_are_left_to_the_cpu() -> None:
    pipeline = reduced("add", spaces.UInt8)
    verdict = spaces.verify(pipeline, spaces.parse_schedule(KERNELS[0], pipeline), GPU)
    assert "race.atomic" in {v.rule for v in verdict.violations}
