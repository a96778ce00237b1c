"""Updates of one element by threads of kernels: the same values as NumPy, in every order."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import spaces
from spaces import (
    Float32,
    Float64,
    Func,
    ImageParam,
    Int8,
    Int16,
    Int32,
    Int64,
    Param,
    RDom,
    Type,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Var,
    cast,
    clamp,
    select,
)
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.helpers import HELPERS
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.replay import replay_nest
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import type_of
from spaces.model.formulas.algebra import evaluate
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
    compiled = compile_gpu(checked)
    for executor in ORDERS:
        inputs = {"input": image, "place": place}
        found = compiled.run(inputs, sizes={"out": [5]}, executor=executor)
        assert (found["out.0"] == f).all()
        assert np.array_equal(found["out.1"], h)


WHOLE = [Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64]
OPERATORS = ["add", "mul", "min", "max"]


@pytest.mark.parametrize("element", WHOLE, ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_threads_lose_no_update(operator: str, element: Type) -> None:
    text = KERNELS[(WHOLE.index(element) + OPERATORS.index(operator)) % len(KERNELS)]
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
        texts[operator] = compile_gpu(checked).source
    assert "atomicAdd((unsigned int*)&f_buf[" in texts["add"]
    assert "atomicMin(&f_buf[" in texts["min"]
    assert "change<int, unsigned int>(&f_buf[" in texts["mul"]
    assert "atomicCAS" not in texts["add"]


@pytest.mark.parametrize("text", KERNELS)
def test_all_is_proven_and_a_replay_finds_nothing(text: str) -> None:
    pipeline = reduced("add", Int32, height=8)
    written = spaces.parse_schedule(text, pipeline)
    checked = spaces.verify(pipeline, written, GPU)
    assert checked, str(checked)
    report = spaces.prove(checked)
    assert len(report.proven) == len(report.proofs), report
    bare = spaces.parse_schedule(text.replace(".atomic()", ""), pipeline)
    racing = spaces.prove(spaces.loop_nest(pipeline, bare))
    assert {p.obligation.kind for p in racing.proofs if p not in racing.proven} == {"race"}
    ranges = {"out": [5], "input": [24, 8], "place": [24, 8]}
    sizes = {f"{b}.extent.{d}": e for b, es in ranges.items() for d, e in enumerate(es)}
    sizes |= {name.replace("extent", "min"): 0 for name in sizes}
    assert not replay_nest(spaces.loop_nest(pipeline, written), sizes).faults


def test_arrays_of_short_elements_have_whole_words_where_threads_change_them() -> None:
    pipeline = reduced("add", UInt8)
    checked = spaces.verify(pipeline, spaces.parse_schedule(KERNELS[2], pipeline), GPU)
    assert isinstance(checked, spaces.CheckedSchedule), str(checked)
    compiled = compile_gpu(checked)
    assert "__shared__ __align__(4) unsigned char h_buf[8];" in compiled.source  # for 5
    assert "change_part<unsigned char>(&h_buf[" in compiled.source
    (printed,) = [k for k in compiled.kernels if k.static_shared_bytes]
    assert printed.static_shared_bytes == 8
    (kernel,) = [k for k in checked.kernels if k.shared]
    assert evaluate(kernel.shared_bytes, {}) == 8


@pytest.mark.parametrize("element", [UInt8, Int16], ids=str)
def test_nothing_outside_of_an_output_of_any_length_is_accessed(element: Type) -> None:
    last = Param(Int32, "last")
    image, hits, x, r = ImageParam(UInt8, 1, "input"), Func("hits"), Var("x"), RDom([(0, 61)], "r")
    hits[x] = cast(element, 0)
    at = clamp(cast(Int32, image[r.x]), 0, last)
    hits[at] = hits[at] + cast(element, 1)
    pipeline = spaces.pipeline(hits)
    text = (
        "hits.gpu_tile(x, xi, 8, TailStrategy::GuardWithIf)\n"
        "hits.update(0).atomic().gpu_tile(r.x, ri, 16, TailStrategy::GuardWithIf)"
    )
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), GPU)
    assert checked, str(checked)
    compiled = compile_gpu(checked)
    guarded = SanitizedEmulator("address,undefined", "shuffled", seed=2)
    for count, executor in product((1, 2, 3, 5, 7), (*ORDERS, guarded)):
        values = np.random.default_rng(count).integers(0, count, 61, np.uint8)
        given, sizes = ({"input": values}, {"last": count - 1}), {"hits": [count]}
        found = compiled.run(*given, sizes=sizes, executor=executor)["hits"]
        assert found.tolist() == [int((values == n).sum()) for n in range(count)]


CROWD = """
#include <pthread.h>
#include <cstdio>
#define __device__
static unsigned atomicCAS(unsigned* at, unsigned expected, unsigned desired) {
    return __sync_val_compare_and_swap(at, expected, desired);
}
HELPER
alignas(4) static volatile unsigned char bytes[4];
static void* add(void* which) {
    const long place = (long)which;
    for (int i = 0; i < 200000; ++i) {
        if (place == 3) bytes[3] = (unsigned char)i;  // a neighbour, by a plain store
        else change_part<unsigned char>((unsigned char*)&bytes[place],
                                        [](unsigned char now) { return now + 1; });
    }
    return nullptr;
}
int main() {
    pthread_t threads[7];
    for (long i = 0; i < 7; ++i) pthread_create(&threads[i], nullptr, add, (void*)(i / 2));
    for (auto thread : threads) pthread_join(thread, nullptr);
    printf("%d %d %d %d", bytes[0], bytes[1], bytes[2], bytes[3]);
}
"""


def test_neighbours_in_a_word_lose_nothing_to_each_other(tmp_path: Path) -> None:
    text = CROWD.replace("HELPER", HELPERS["change_part"])
    (tmp_path / "crowd.cpp").write_text(text)
    program = str(tmp_path / "crowd")
    subprocess.run(
        ["g++", "-O2", "-pthread", "-o", program, str(tmp_path / "crowd.cpp")], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
    twice, last = 2 * 200000 % 256, 199999 % 256
    assert done.stdout == f"{twice} {twice} {twice} {last}"


def test_the_best_of_compared_values_is_left_to_rfactor() -> None:
    image, best = ImageParam(Int32, 1, "input"), Func("best")
    r = RDom([(0, 64)], "r")
    best[()] = (constant(0, Int32), constant(0, Int32))
    better = image[r.x] > best[()][0]
    best[()] = (select(better, image[r.x], best[()][0]), select(better, r.x, best[()][1]))
    pipeline = spaces.pipeline(best)
    text = "best.compute_root().update(0).atomic().gpu_tile(r.x, ri, 16)"
    verdict = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), GPU)
    (violation,) = [v for v in verdict.violations if v.rule == "race.atomic"]
    assert "the 2 values of best change together" in violation.message
    assert "best.update(0).rfactor" in violation.message
    text = (
        "best.update(0).split(r.x, ro, ri, 4).rfactor(ro, u).compute_root()"
        ".gpu_tile(u, ui, 4).update(0).gpu_tile(u, ui, 4)"
    )
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), GPU)
    assert checked, str(checked)
    compiled = compile_gpu(checked)
    values = np.random.default_rng(4).integers(-50, 50, 64, np.int32)
    for executor in ORDERS:
        found = compiled.run({"input": values}, sizes={"best": []}, executor=executor)
        assert found["best.0"] == values.max()
        assert found["best.1"] == values.argmax()
