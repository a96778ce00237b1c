"""Reductions that read their own earlier values, or write at coordinates from data; several
outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from numpy.typing import NDArray

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.reference import evaluate
from spaces.backend.replay import replay_nest
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16, UInt32
from spaces.model.nest.loopnest import loop_nest
from spaces.model.writing.text import parse_schedule

X, Y, C = Var("x"), Var("y"), Var("c")

Arrays = Mapping[str, NDArray[Any]]

_random = np.random.default_rng(11)
PIXELS = _random.integers(0, 256, (24, 40), np.uint8)
FLOATS = _random.random((24, 40)).astype(np.float32)
PLACES = _random.integers(-3, 20, 16).astype(np.int32)


@frozen(eq=False)
class Example:
    """A pipeline, its arguments, the values by NumPy, and schedules of it."""

    algorithm: Pipeline
    inputs: Arrays
    sizes: Mapping[str, list[int]]
    wanted: Arrays
    cpu: tuple[str, ...]
    gpu: str


def equalized() -> Example:
    """A histogram with pixels as index, without clamps because a uint8 has 256 values, and its
    sums.
    """
    image = ImageParam(UInt8, 2, "input")
    counts, below, out = Func("counts"), Func("below"), Func("out")
    r = RDom([(0, image.width()), (0, image.height())], "r")
    b = RDom([(1, 255)], "b")
    counts[X] = cast(UInt32, 0)
    counts[image[r.x, r.y]] += 1
    below[X] = counts[X]
    below[b.x] = below[b.x - 1] + counts[b.x]
    out[X, Y] = cast(UInt8, below[image[X, Y]] * 255 / (24 * 40))
    sums = np.bincount(PIXELS.reshape(-1), minlength=256).cumsum()
    return Example(
        pipeline(out),
        {"input": PIXELS},
        {"out": [40, 24]},
        {"out": (sums[PIXELS] * 255 // 960).astype(np.uint8)},
        (
            "counts.compute_root(); below.compute_root()",
            "out.vectorize(x, 8).parallel(y); counts.compute_root().vectorize(x, 8);"
            "below.compute_root()",
        ),
        "out.gpu_tile(x, y, xi, yi, 8, 8); counts.compute_root(); below.compute_root()",
    )


def recursive() -> Example:
    """A filter down the columns and up again; each row is made from the row before."""
    image = ImageParam(Float32, 2, "input")
    rows, out = Func("rows"), Func("out")
    down, up = RDom([(1, image.height() - 1)], "down"), RDom([(0, image.height() - 1)], "up")
    back = image.height() - 2 - up.x
    rows[X, Y] = image[X, Y]
    rows[X, down.x] = 0.25 * rows[X, down.x] + 0.75 * rows[X, down.x - 1]
    rows[X, back] = 0.25 * rows[X, back] + 0.75 * rows[X, back + 1]
    out[X, Y] = rows[X, Y]
    values, quarter, rest = FLOATS.copy(), np.float32(0.25), np.float32(0.75)
    for y in range(1, 24):
        values[y] = quarter * values[y] + rest * values[y - 1]
    for y in range(22, -1, -1):
        values[y] = quarter * values[y] + rest * values[y + 1]
    return Example(
        pipeline(out),
        {"input": FLOATS},
        {"out": [40, 24]},
        {"out": values},
        (
            "rows.compute_root()",
            "out.split(x, xo, xi, 8).reorder(xi, y, xo).vectorize(xi).parallel(xo);"
            "rows.compute_at(out, xo).vectorize(x, 8);"
            "rows.update(0).reorder(x, down.x).vectorize(x, 8);"
            "rows.update(1).reorder(x, up.x).vectorize(x, 8)",
        ),
        "out.gpu_tile(x, y, xi, yi, 8, 8); rows.compute_root().gpu_tile(x, y, xi, yi, 8, 8);"
        "rows.update(0).split(x, x, xi, 8).reorder(down.x, xi, x).gpu_blocks(x).gpu_threads(xi);"
        "rows.update(1).split(x, x, xi, 8).reorder(up.x, xi, x).gpu_blocks(x).gpu_threads(xi)",
    )


def running() -> Example:
    """The brightest pixel of a row so far and its place: a scan of Tuples, and a scan of sums."""
    image = ImageParam(UInt8, 2, "input")
    best, sums = Func("best"), Func("sums")
    r, s = RDom([(1, 39)], "r"), RDom([(1, 39)], "s")
    best[X, Y] = (image[X, Y], X)
    brighter = best[r.x, Y][0] > best[r.x - 1, Y][0]
    best[r.x, Y] = tuple(
        fn.select(brighter, here, before)
        for here, before in zip(best[r.x, Y], best[r.x - 1, Y], strict=True)
    )
    sums[X, Y] = cast(Int32, best[X, Y][0])
    sums[s.x, Y] += sums[s.x - 1, Y] + best[s.x, Y][1]
    most = np.maximum.accumulate(PIXELS, axis=1)
    where = np.array([[int(np.argmax(row[: x + 1])) for x in range(40)] for row in PIXELS])
    added = most.astype(np.int32)
    added[:, 1:] += where[:, 1:].astype(np.int32)
    return Example(
        pipeline([best, sums]),
        {"input": PIXELS},
        {"best": [40, 24], "sums": [40, 24]},
        {"best.0": most, "best.1": where.astype(np.int32), "sums": added.cumsum(1, np.int32)},
        (
            "",
            "best.update(0).parallel(y); sums.vectorize(x, 8).update(0).reorder(y, s.x)"
            ".vectorize(y, 4)",
        ),
        "best.gpu_tile(x, y, xi, yi, 8, 8);"
        "best.update(0).split(y, y, yi, 8).reorder(r.x, yi, y).gpu_blocks(y).gpu_threads(yi);"
        "sums.gpu_tile(x, y, xi, yi, 8, 8);"
        "sums.update(0).split(y, y, yi, 8).reorder(s.x, yi, y).gpu_blocks(y).gpu_threads(yi)",
    )


def scattered() -> Example:
    """A table that is written and read at coordinates from an image, in the order of the domain."""
    places, table, out = ImageParam(Int32, 1, "places"), Func("table"), Func("out")
    r = RDom([(0, 16)], "r")
    here, beside = fn.clamp(places[r], 0, 15), fn.clamp(places[r] + 1, 0, 15)
    table[X, C] = 0
    table[here, C] = r + C
    table[beside, C] += table[here, C]
    out[X, C] = table[fn.clamp(table[X, C], 0, 15), C]
    values = np.zeros((3, 16), np.int32)
    for c in range(3):
        for step, place in enumerate(PLACES):
            values[c, min(max(place, 0), 15)] = step + c
        for place in PLACES:
            values[c, min(max(place + 1, 0), 15)] += values[c, min(max(place, 0), 15)]
    gathered = np.take_along_axis(values, np.clip(values, 0, 15), 1)
    return Example(
        pipeline(out),
        {"places": PLACES},
        {"out": [16, 3]},
        {"out": gathered},
        (
            "table.compute_root()",
            "out.vectorize(x, 4); table.compute_root().update(1).reorder(c, r.x).unroll(c, 3)",
        ),
        "out.gpu_tile(x, c, xi, ci, 8, 1); table.compute_root().gpu_tile(x, c, xi, ci, 8, 1);"
        "table.update(0).gpu_blocks(c); table.update(1).gpu_blocks(c)",
    )


def sparse() -> Example:
    """A table of 65536 counts, indexed by shifted and masked values of 16 bits."""
    image, counts, out = ImageParam(UInt16, 1, "input"), Func("counts"), Func("out")
    r = RDom([(0, 50)], "r")
    counts[X, C] = 0
    counts[image[r.x] >> 4, r.x & 3] += 1
    out[X, C] = counts[X * 4, C]
    values = np.random.default_rng(2).integers(0, 1 << 16, 50).astype(np.uint16)
    table = np.zeros((4, 4096), np.int32)
    np.add.at(table, (np.arange(50) & 3, values >> 4), 1)
    return Example(
        pipeline(out),
        {"input": values},
        {"out": [1024, 4]},
        {"out": table[:, ::4]},
        ("counts.compute_root()", "counts.compute_root().vectorize(x, 16)"),
        "out.gpu_tile(x, c, xi, ci, 32, 1); counts.compute_root()",
    )


EXAMPLES: tuple[Callable[[], Example], ...] = (equalized, recursive, running, scattered, sparse)


def checked(algorithm: Pipeline, text: str, name: str) -> CheckedSchedule:
    verdict = verify(algorithm, parse_schedule(text, algorithm), device(name))
    assert isinstance(verdict, CheckedSchedule), verdict
    return verdict


@pytest.mark.parametrize("make", EXAMPLES)
def test_on_a_cpu(make: Callable[[], Example]) -> None:
    example = make()
    reference = evaluate(example.algorithm, example.inputs, sizes=example.sizes)
    assert_same(reference, example.wanted)
    for text in example.cpu:
        verdict = checked(example.algorithm, text, "cpu")
        found = compile_cpu(verdict).run(example.inputs, sizes=example.sizes)
        assert_same(found, example.wanted)
        report = prove(verdict)
        assert len(report.proven) == len(report.proofs), report


@pytest.mark.parametrize("make", EXAMPLES)
def test_on_a_gpu(make: Callable[[], Example]) -> None:
    example = make()
    verdict = checked(example.algorithm, example.gpu, "sm_80")
    found = compile_gpu(verdict).run(example.inputs, sizes=example.sizes)
    assert_same(found, example.wanted)


def test_a_scan_in_another_order_is_refused_and_seen_to_fail() -> None:
    example = running()
    text = "sums.update(0).split(s.x, o, i, 3).reorder(o, i, y)"
    schedule = parse_schedule(text, example.algorithm)
    verdict = verify(example.algorithm, schedule, device("cpu"))
    assert {v.rule for v in verdict.violations} == {"order.reduction"}
    seen = replay_nest(loop_nest(example.algorithm, schedule), {"sums.extent.0": 40})
    assert [wrong.output for wrong in seen.wrong] == ["sums"]


def assert_same(found: Arrays, wanted: Arrays) -> None:
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name, strict=True)
