"""Memoized Funcs: outputs are those without memoize, and a run computes no kept values again."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spaces
from spaces import Pipeline, evaluate
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Recall, Store
from spaces.backend.llvm.runtime import helpers
from spaces.backend.llvm.runtime.memo import memo_module
from spaces.backend.lowering.cpu.passes import lower
from spaces.machine_code import compile_module

X, Y = spaces.Var("x"), spaces.Var("y")
IMAGE = spaces.ImageParam(spaces.UInt8, 2, "image")
GAIN = spaces.Param(spaces.Float32, "gain")
SHIFT = spaces.Param(spaces.Int32, "shift")
SIZES = {"out": (24, 10)}
PIXELS = np.random.default_rng(1).integers(0, 255, (80, 90)).astype(np.uint8)


def table() -> Pipeline:
    """A table of pairs that depends on two Params, and a Func that depends on it and no image."""
    curve, slope, out = spaces.Func("curve"), spaces.Func("slope"), spaces.Func("out")
    curve[X] = (spaces.sqrt(spaces.f32(X)) * GAIN, X * 3 + SHIFT)
    slope[X] = curve[X + 1][0] - curve[X][0]
    at = spaces.i32(IMAGE[X, Y])
    out[X, Y] = curve[at][0] + spaces.f32(curve[at][1]) + slope[X + Y % 3]
    return spaces.pipeline(out)


def sums() -> Pipeline:
    """A Func with updates over as many values as a Param says, beside the size of an output."""
    r = spaces.RDom([(0, spaces.max(SHIFT, 1) % 9)], "r")
    total, out = spaces.Func("total"), spaces.Func("out")
    total[X, Y] = X * IMAGE.width() + Y
    total[X, Y] += r.x * X
    out[X, Y] = total[X, Y] + total[X, Y + 1] + spaces.i32(IMAGE[X, Y])
    return spaces.pipeline(out)


CASES = {
    "table at root": (table, "curve.compute_root().memoize()\nslope.compute_root()"),
    "both": (table, "curve.compute_root().memoize()\nslope.compute_root().memoize()"),
    "both inside": (
        table,
        "out.split(y, y, yi, 4).parallel(y)\ncurve.compute_at(out, y).memoize()\n"
        "slope.compute_at(out, yi).memoize().vectorize(x, 4).store_in(MemoryType::Heap)",
    ),
    "on the reader alone": (table, "curve.compute_root()\nslope.compute_root().memoize()"),
    "in vectors": (table, "curve.compute_root().vectorize(x, 8).memoize()\nout.vectorize(x, 8)"),
    "updates": (sums, "total.compute_root().memoize()"),
    "updates in tiles": (
        sums,
        "out.tile(x, y, xi, yi, 8, 4).parallel(y)\ntotal.compute_at(out, x).memoize()"
        ".reorder_storage(y, x).align_storage(y, 8)\ntotal.update(0).unroll(x, 2)",
    ),
    "padded rows": (
        sums,
        "out.parallel(y)\ntotal.compute_at(out, y).bound_storage(x, 96).memoize()",
    ),
    "hoisted": (sums, "total.compute_at(out, y).hoist_storage_root().memoize()"),
    "a clone for all": (
        table,
        "curve.compute_root().memoize()\ncurve.clone_in(slope, out)\nslope.compute_root()",
    ),
    "a clone": (
        table,
        "curve.clone_in(slope).compute_root().memoize()\nslope.compute_root()\n"
        "curve.compute_root().memoize()",
    ),
}


def checked(algorithm: Pipeline, text: str) -> spaces.CheckedSchedule:
    chosen = spaces.parse_schedule(text, algorithm)
    assert spaces.parse_schedule(spaces.format_schedule(chosen, algorithm), algorithm) == chosen
    found = spaces.verify(algorithm, chosen, spaces.device("cpu"))
    assert isinstance(found, spaces.CheckedSchedule), str(found)
    return found


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    helpers.release_memo()
    yield
    helpers.release_memo()


def computed(run: Callable[[], object]) -> tuple[int, int]:
    """How often a run finds values, and how often it computes them."""
    found, missed = helpers.memo_recalls()
    run()
    now = helpers.memo_recalls()
    return now[0] - found, now[1] - missed


def assert_same(
    algorithm: Pipeline,
    compiled: spaces.CompiledPipeline,
    params: Mapping[str, Any],
    sizes: Mapping[str, Any],
    image: np.ndarray = PIXELS,
) -> None:
    found = compiled.run({"image": image}, params, sizes)["out"]
    wanted = evaluate(algorithm, {"image": image}, params, sizes)["out"]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_values_are_those_of_the_reference(name: str, data: st.DataObject) -> None:
    """Whatever was kept before: Params, sizes and places of earlier calls are drawn, too."""
    build, text = CASES[name]
    algorithm = build()
    compiled = spaces.compile_cpu(checked(algorithm, text))
    for _ in range(6):
        params = {p.name: data.draw(st.integers(0, 3)) for p in algorithm.scalars}
        first = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
        extents = data.draw(st.sampled_from([(24, 10), (25, 10), (26, 12), (60, 40)]))
        sizes = {"out": tuple(zip(first, extents, strict=True))}
        width = data.draw(st.sampled_from([64, 65, 90]))
        assert_same(algorithm, compiled, params, sizes, PIXELS[:, :width])


def test_a_second_call_computes_nothing() -> None:
    algorithm = table()
    compiled = spaces.compile_cpu(checked(algorithm, CASES["both"][1]))

    def run(gain: float, shift: int) -> tuple[int, int]:
        params = {"gain": gain, "shift": shift}
        return computed(lambda: assert_same(algorithm, compiled, params, SIZES))

    assert run(2.0, 1) == (0, 2)
    assert run(2.0, 1) == (2, 0)
    assert run(3.0, 1) == (0, 2)
    assert run(2.0, 1) == (2, 0)
    assert run(2.0, 2) == (0, 2)
    helpers.release_memo()
    assert run(2.0, 1) == (0, 2)


@pytest.mark.parametrize("name", CASES)
def test_all_that_computes_them_is_left_out(name: str) -> None:
    """Each store to a memoized Func is in the part that runs only where nothing is kept."""
    build, text = CASES[name]
    algorithm = build()
    chosen = spaces.parse_schedule(text, algorithm)
    *_, program = lower(spaces.loop_nest(algorithm, chosen)).values()
    stores = [s for s in walk_nodes(program.body) if isinstance(s, Store)]
    inside = [
        s
        for recall in walk_nodes(program.body)
        if isinstance(recall, Recall)
        for s in walk_nodes(recall.body)
        if isinstance(s, Store) and s.buffer in recall.buffers
    ]
    kept = {entry.name for entry in chosen.funcs if entry.memoized}
    assert kept == {s.buffer.partition(".")[0] for s in inside}
    assert len(inside) == len([s for s in stores if s.buffer.partition(".")[0] in kept])


def test_each_place_has_values_of_its_own() -> None:
    """Rows inside a loop: each row is kept, also where several threads ask for rows at once."""
    algorithm = sums()
    text = "out.parallel(y)\ntotal.compute_at(out, y).memoize()"
    compiled = spaces.compile_cpu(checked(algorithm, text), threads=4)
    params = {"shift": 4}
    run = lambda: assert_same(algorithm, compiled, params, SIZES)  # noqa: E731
    assert computed(run) == (0, 10)
    assert computed(run) == (10, 0)


def test_programs_do_not_take_the_values_of_others() -> None:
    """Other definitions under the same names, and the same definitions compiled again."""
    for factor in (3, 4, 3):
        table_of, out = spaces.Func("table"), spaces.Func("out")
        table_of[X] = X * factor + SHIFT
        out[X, Y] = table_of[X] + spaces.i32(IMAGE[X, Y])
        algorithm = spaces.pipeline(out)
        compiled = spaces.compile_cpu(checked(algorithm, "table.compute_root().memoize()"))
        assert_same(algorithm, compiled, {"shift": 1}, SIZES)
    assert helpers.memo_bytes() == 2 * 16384


def test_threads_share_what_is_kept() -> None:
    algorithm = table()
    compiled = spaces.compile_cpu(checked(algorithm, CASES["both"][1]))
    faults: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for i in range(60):
                params = {"gain": float((seed + i) % 7), "shift": i % 3}
                assert_same(algorithm, compiled, params, SIZES)
                if i % 20 == seed:
                    helpers.release_memo()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


class Bounded:
    """A cache of its own with a small limit. Behind a key lies another number each time."""

    def __init__(self, limit: int) -> None:
        self.code = compile_module(memo_module(limit))
        self.numbers = count(1)

    def call(self, name: str, key: list[int], *arrays: np.ndarray) -> int:
        words = (ctypes.c_int64 * (len(key) + 1))(*key, next(self.numbers))
        places = (ctypes.c_int64 * len(arrays))(*(a.ctypes.data for a in arrays))
        sizes = (ctypes.c_int64 * len(arrays))(*(a.nbytes for a in arrays))
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int32,
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_int64,
        )
        function = kind(self.code.address(f"spaces_{name}"))
        return function(words, len(key), places, sizes, len(arrays))

    def number(self, which: int) -> int:
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        return kind(self.code.address("spaces_memo_number"))(which)


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    memo = Bounded(limit=3 * 20_000)
    values = {i: np.full(19_000, i, np.uint8) for i in range(5)}
    for i in (0, 1, 2):
        memo.call("keep", [i, 7], values[i])
    found = np.zeros(19_000, np.uint8)
    assert memo.call("recall", [0, 7], found) == 1
    assert (found == 0).all()
    memo.call("keep", [3, 7], values[3])  # 1 goes: 0 was used after it
    assert [memo.call("recall", [i, 7], found) for i in range(4)] == [1, 0, 1, 1]
    assert (found == 3).all()
    assert memo.number(0) <= 3 * 20_000
    assert memo.call("recall", [3], found) == 0  # a part of a key is another key
    memo.call("keep", [9, 9], np.zeros(70_000, np.uint8))  # more than all
    assert memo.number(0) <= 3 * 20_000
    assert memo.call("recall", [2, 7], found) == 1


def test_a_func_in_fused_loops_is_not_kept() -> None:
    f, g, out = spaces.Func("f"), spaces.Func("g"), spaces.Func("out")
    f[X], g[X] = X * SHIFT, X + SHIFT
    out[X] = f[X] + g[X]
    algorithm = spaces.pipeline(out)
    for kept, other in ("fg", "gf"):
        text = f"f.compute_root()\ng.compute_root().compute_with(f, x)\n{kept}.memoize()"
        chosen = spaces.parse_schedule(text, algorithm)
        (violation,) = spaces.verify(algorithm, chosen, spaces.device("cpu")).violations
        assert violation.rule == "memoize.place"
        assert f"fused with those of {other}" in violation.message
        repaired = spaces.repair(algorithm, chosen, spaces.device("cpu"))
        assert spaces.verify(algorithm, repaired.schedule, spaces.device("cpu"))


def test_hardened_code_computes_always() -> None:
    algorithm = table()
    compiled = spaces.compile_cpu(
        checked(algorithm, CASES["both"][1]), access_mode=spaces.AccessMode.HARDENED
    )
    run = lambda: assert_same(algorithm, compiled, {"gain": 1.5, "shift": 0}, SIZES)  # noqa: E731
    assert [computed(run), computed(run)] == [(0, 0), (0, 0)]


def test_a_nest_says_what_the_values_depend_on() -> None:
    algorithm = sums()
    text = "out.parallel(y)\ntotal.compute_at(out, y).memoize()"
    shown = spaces.format_nest(spaces.loop_nest(algorithm, spaces.parse_schedule(text, algorithm)))
    (line,) = (line for line in shown.splitlines() if "produce total" in line)
    for part in ("shift", "image.extent.0", "out.min.0", "out.extent.0", "out.s0.y"):
        assert part in line.partition("memoized by")[2]
