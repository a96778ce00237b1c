"""How often compiled pipelines take scratch memory, and what they say where there is too little."""

from __future__ import annotations

import re

import numpy as np
import pytest

import spaces
from spaces import CheckedSchedule, Pipeline, evaluate
from spaces.backend.access import AccessMode
from tests.backend.counted_memory import CountedMemory

X, Y = spaces.Var("x"), spaces.Var("y")
IMAGE = spaces.ImageParam(spaces.Int32, 2, "image")
ROUNDS, LENGTH = spaces.Param(spaces.Int32, "rounds"), spaces.Param(spaces.Int32, "length")
WIDTH, HEIGHT, ROWS = 37, 24, 6
SIZES = {"out": (WIDTH, HEIGHT)}
PIXELS = np.random.default_rng(5).integers(-99, 99, (HEIGHT + 4, WIDTH + 4)).astype(np.int32)


def rows() -> Pipeline:
    """Two Funcs, each read at two places of the row by the next one."""
    f, g, out = spaces.Func("f"), spaces.Func("g"), spaces.Func("out")
    f[X, Y] = IMAGE[X, Y] * 3
    g[X, Y] = f[X, Y] - f[X + 1, Y]
    out[X, Y] = g[X, Y] + g[X + 1, Y]
    return spaces.pipeline(out)


def pairs() -> Pipeline:
    f, out = spaces.Func("f"), spaces.Func("out")
    f[X, Y] = (IMAGE[X, Y], IMAGE[X, Y] * X)
    out[X, Y] = f[X, Y][0] - f[X + 1, Y][1]
    return spaces.pipeline(out)


def window() -> Pipeline:
    f, out = spaces.Func("f"), spaces.Func("out")
    f[X, Y] = IMAGE[X, Y] * X
    out[X, Y] = f[X, Y] + f[X + 1, Y + 2]
    return spaces.pipeline(out)


def kept() -> Pipeline:
    f, out = spaces.Func("f"), spaces.Func("out")
    f[X] = X * LENGTH
    out[X, Y] = f[X] + f[X + 1] * IMAGE[X, Y]
    return spaces.pipeline(out)


IN_ROWS = "f.compute_at(out, y); g.compute_at(out, y)"
STRIPS = f"out.split(y, yo, y, {ROWS}).parallel(yo)"

CASES = {
    "all rows": (rows, IN_ROWS, 2),
    "rows of tasks": (rows, f"{STRIPS}; {IN_ROWS}", 2 * HEIGHT // ROWS),
    "tasks of a row": (rows, f"out.parallel(y); {IN_ROWS}", 2 * HEIGHT),
    "strips of rows": (rows, f"out.split(y, yo, y, {ROWS}); {IN_ROWS}", 2),
    "rows in a function of a pool": (
        rows,
        f"{IN_ROWS}; out.split(x, xo, xi, 8, TailStrategy::GuardWithIf).parallel(xo)",
        2,
    ),
    "pairs": (pairs, "f.compute_at(out, y)", 2),
    "a window that slides": (window, "f.store_root().compute_at(out, y)", 1),
    "a window that slides in each strip": (
        window,
        f"out.split(y, yo, y, {ROWS}); f.store_at(out, yo).compute_at(out, y)",
        1,
    ),
    "values that are kept": (kept, "f.compute_at(out, y).memoize()", 1),
    "places that rows share": (window, "f.compute_at(out, y).hoist_storage_root()", 1),
    "places in turn": (
        window,
        "f.compute_at(out, y).hoist_storage_root().ring_buffer(2).async()",
        1,
    ),
}


def checked(algorithm: Pipeline, text: str) -> CheckedSchedule:
    verdict = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), spaces.device("cpu"))
    assert isinstance(verdict, CheckedSchedule), verdict.violations
    return verdict


@pytest.mark.parametrize("name", CASES)
def test_rows_take_memory_once(name: str) -> None:
    build, text, requests = CASES[name]
    algorithm = build()
    memory = CountedMemory()
    with memory.linked():
        compiled = spaces.compile_cpu(checked(algorithm, text))
    params = {one.name: 3 for one in algorithm.scalars}
    found = compiled.run({"image": PIXELS}, params, sizes=SIZES)["out"]
    expected = evaluate(algorithm, {"image": PIXELS}, params, sizes=SIZES)["out"]
    np.testing.assert_array_equal(found, expected)
    assert len(memory.requests) == requests
    assert memory.held == 0


def test_hardened_rows_take_new_memory() -> None:
    """It is filled with poison, and what an earlier row left would hide a read before a write."""
    algorithm, memory = kept(), CountedMemory()
    chosen = checked(algorithm, "f.compute_at(out, y)")
    with memory.linked():
        compiled = spaces.compile_cpu(chosen, access_mode=AccessMode.HARDENED)
    compiled.run({"image": PIXELS}, {"length": 3}, sizes=SIZES)
    assert len(memory.requests) == HEIGHT


def sums() -> Pipeline:
    """Each of some rounds adds the values of a table of some length."""
    table, out = spaces.Func("table"), spaces.Func("out")
    r = spaces.RDom([(0, LENGTH), (0, ROUNDS)], "r")
    table[X, Y] = IMAGE[X, Y] * 2
    out[X] = 0
    out[X] += table[r.x, r.y] * X
    return spaces.pipeline(out)


@pytest.mark.parametrize("rounds", [0, 3])
def test_loops_without_iterations_take_nothing(rounds: int) -> None:
    algorithm, memory = sums(), CountedMemory()
    text = "out.update(0).reorder(x, r.x, r.y); table.compute_at(out, r.y)"
    with memory.linked():
        compiled = spaces.compile_cpu(checked(algorithm, text))
    params = {"rounds": rounds, "length": 5}
    found = compiled.run({"image": PIXELS}, params, sizes={"out": (4,)})["out"]
    np.testing.assert_array_equal(found, np.arange(4) * PIXELS[:rounds, :5].sum() * 2)
    assert len(memory.requests) == min(rounds, 1)


def test_the_error_of_too_little_memory_stays() -> None:
    algorithm = rows()
    told = set()
    for mode in AccessMode:
        memory = CountedMemory(limit=8 * WIDTH)  # both rows need more
        with memory.linked():
            compiled = spaces.compile_cpu(checked(algorithm, IN_ROWS), access_mode=mode)
        with pytest.raises(MemoryError) as error:
            compiled.run({"image": PIXELS}, sizes=SIZES)
        assert memory.held == 0
        told.add(str(error.value))
    assert len(told) == 1
    assert re.search("found no memory for its intermediate values", *told)


def test_parts_on_the_host_take_memory_once() -> None:
    f, out = spaces.Func("f"), spaces.Func("out")
    f[X] = X * 3
    out[X, Y] = IMAGE[X, Y]
    out[X, Y] -= f[X]
    algorithm = spaces.pipeline(out)
    text = "out.gpu_tile(x, y, xi, yi, 8, 8, TailStrategy::GuardWithIf); f.compute_at(out, y)"
    chosen = spaces.parse_schedule(text, algorithm)
    for mode, requests in ((AccessMode.PLAIN, 1), (AccessMode.HARDENED, HEIGHT)):
        memory = CountedMemory()
        with memory.linked():
            verdict = spaces.verify(algorithm, chosen, spaces.device("sm_80"))
            compiled = spaces.compile_gpu(verdict, access_mode=mode)
        found = compiled.run({"image": PIXELS}, sizes=SIZES)["out"]
        np.testing.assert_array_equal(found, PIXELS[:HEIGHT, :WIDTH] - np.arange(WIDTH) * 3)
        assert len(memory.requests) == requests
