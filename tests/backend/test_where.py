"""Reduction domains with predicates: updates do nothing at points that the predicates exclude."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from attrs import evolve
from numpy.typing import NDArray

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.halide.source import halide_source
from spaces.backend.reference import evaluate
from spaces.backend.replay import replay_nest
from spaces.backend.replay.report import FaultKind
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.reductions import argmin, sum
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.nest.loopnest import Compute, loop_nest
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import parse_schedule
from tests.constraints.proofs.broken import changed

X, Y = Var("x"), Var("y")

SQUARE = np.random.default_rng(5).integers(-40, 40, (12, 12)).astype(np.int32)

Arrays = Mapping[str, NDArray[np.int32]]


def triangle() -> Pipeline:
    """Sums over a triangle that grows with ``y``: columns up to the row, in a square image."""
    source, total, out = ImageParam(Int32, 2, "input"), Func("total"), Func("out")
    r = RDom([(0, 12), (0, 12)], "r")
    r.where(r.x < r.y)
    r.where(r.y <= Y)
    total[X, Y] = X
    total[X, Y] += source[r.x, r.y] * (X + 1)
    out[X, Y] = total[X, Y] + total[X, Y + 1]
    return pipeline(out, estimates={out: [8, 8]})


def triangles(width: int, height: int) -> NDArray[np.int64]:
    below = np.array([np.tril(SQUARE[: y + 1], -1).sum() for y in range(height + 1)])
    across = np.arange(width)
    total = across + below[:, None] * (across + 1)
    return total[:-1] + total[1:]


def picky() -> Pipeline:
    """A predicate that reads the image, a Func, and the Func that is updated."""
    source, mark, total = ImageParam(Int32, 2, "input"), Func("mark"), Func("total")
    r = RDom([(1, 9), (0, 3)], "r")
    mark[X] = X * X % 5
    total[X] = X * 10
    r.where((source[r.x, r.y] > 0) & (r.x + r.y < 9))
    r.where(mark[r.x] != 1)
    r.where(total[X] < 90)
    total[X] = total[X] + source[r.x - 1, r.y] + r.x
    return pipeline(total, estimates={total: [8]})


def picked(width: int) -> NDArray[np.int64]:
    total = np.arange(width) * 10
    for y in range(3):
        for x in range(1, 10):
            if SQUARE[y, x] > 0 and x + y < 9 and x * x % 5 != 1:
                total = np.where(total < 90, total + SQUARE[y, x - 1] + x, total)
    return total


def checked(algorithm: Pipeline, text: str, name: str = "cpu") -> CheckedSchedule:
    verdict = verify(algorithm, parse_schedule(text, algorithm), device(name))
    assert isinstance(verdict, CheckedSchedule), verdict
    return verdict


TRIANGLE_ON_CPU = [
    "total.compute_root()",
    "out.vectorize(x, 4).parallel(y); total.compute_at(out, y);"
    "total.update(0).reorder(x, r.x, r.y, y).vectorize(x, 8)",
    "out.split(y, y, yi, 3); total.store_at(out, y).compute_at(out, yi);"
    "total.update(0).vectorize(r.x, 4)",
]

PICKY_ON_CPU = [
    "mark.compute_root()",
    "mark.compute_root(); total.update(0).reorder(x, r.x, r.y).vectorize(x, 4)",
    "mark.compute_root(); total.update(0).parallel(x).unroll(r.x, 3)",
]


@pytest.mark.parametrize("text", TRIANGLE_ON_CPU)
def test_a_triangle(text: str) -> None:
    algorithm = triangle()
    if "vectorize(r.x" in text:
        text = text.replace(".vectorize(r.x, 4)", ".unroll(r.x, 4)")
    assert_computes(algorithm, checked(algorithm, text), {"out": [7, 10]}, triangles(7, 10))


@pytest.mark.parametrize("text", PICKY_ON_CPU)
def test_predicates_that_read(text: str) -> None:
    algorithm = picky()
    assert_computes(algorithm, checked(algorithm, text), {"total": [12]}, picked(12))


def assert_computes(
    algorithm: Pipeline,
    verdict: CheckedSchedule,
    sizes: Mapping[str, list[int]],
    wanted: NDArray[np.int64],
) -> None:
    (name,) = sizes
    inputs = {"input": SQUARE}
    found = compile_cpu(verdict).run(inputs, sizes=sizes)[name]
    np.testing.assert_array_equal(evaluate(algorithm, inputs, sizes=sizes)[name], wanted)
    np.testing.assert_array_equal(found, wanted)
    report = prove(verdict)
    assert len(report.proven) == len(report.proofs), report
    given = {f"{name}.extent.{d}": extent for d, extent in enumerate(sizes[name])}
    assert not replay_nest(verdict.nest, given).wrong


def test_a_triangle_on_a_gpu() -> None:
    algorithm = triangle()
    text = (
        "out.gpu_tile(x, y, xi, yi, 4, 4); total.compute_at(out, x).gpu_threads(x, y);"
        "total.update(0).gpu_threads(x, y)"
    )
    compiled = compile_gpu(checked(algorithm, text, "sm_80"))
    found = compiled.run({"input": SQUARE}, sizes={"out": [7, 10]})["out"]
    np.testing.assert_array_equal(found, triangles(7, 10))


def test_kernels_read_for_predicates_only_where_a_tail_computes() -> None:
    source, total = ImageParam(Int32, 1, "input"), Func("total")
    r = RDom([(0, 3)], "r")
    r.where(source[X] * source[X] > 9)
    total[X] = X
    total[X] += r.x
    algorithm = pipeline(total)
    text = (
        "total.gpu_tile(x, xi, 8, GuardWithIf);"
        "total.update(0).reorder(x, r.x).gpu_tile(x, xi, 8, GuardWithIf)"
    )
    compiled = compile_gpu(checked(algorithm, text, "sm_80"))
    values, executor = np.arange(-5, 6, dtype=np.int32), SanitizedEmulator("address,undefined")
    found = compiled.run({"input": values}, sizes={"total": [11]}, executor=executor)["total"]
    np.testing.assert_array_equal(found, np.arange(11) + 3 * (np.abs(values) > 3))


def test_points_that_predicates_exclude_need_nothing() -> None:
    """``input`` is read only in columns 0 to 10 and rows 1 to 11: ``r.x < r.y``."""
    nest = loop_nest(triangle(), Schedule.default(triangle()))
    box = nest.inputs["input"]
    assert (str(box[0].min), str(box[0].max)) == ("0", "10")
    assert (str(box[1].min)) == "1"
    small = SQUARE[:, :11]
    found = evaluate(triangle(), {"input": small}, sizes={"out": [7, 10]})["out"]
    np.testing.assert_array_equal(found, triangles(7, 10))
    compiled = compile_cpu(checked(triangle(), "total.compute_root()"))
    found = compiled.run({"input": small}, sizes={"out": [7, 10]})["out"]
    np.testing.assert_array_equal(found, triangles(7, 10))


def test_an_order_that_predicates_need() -> None:
    """A sum may run in any order, but not if a predicate reads the current sum."""
    source, total = ImageParam(Int32, 1, "input"), Func("total")
    r = RDom([(0, 9)], "r")
    total[X] = X
    r.where(total[X] < 100)
    total[X] += source[r]
    algorithm = pipeline(total)
    text = "total.update(0).split(r.x, o, i, 3).reorder(o, i, x)"
    verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    assert {v.rule for v in verdict.violations} == {"order.reduction"}


def test_tails_visit_points_that_predicates_would_leave_out() -> None:
    """Columns of ``total`` up to ``x`` are required, but updates run over tiles of 5; the rows that
    they touch grow with their columns.
    """
    total, out = Func("total"), Func("out")
    r = RDom([(0, 4), (1, 3)], "r")
    total[X, Y] = 3 + X
    r.where(r.x + X > r.y)
    total[X, r.y] = total[X, r.y - 1] + r.x * 3
    out[X, Y] = total[X - 1, Y - 1]
    algorithm = pipeline(out)
    verdict = checked(
        algorithm, "total.compute_at(out, x).update(0).split(x, x, i, 5, TailStrategy::RoundUp)"
    )
    assert not prove(verdict).refuted
    found = compile_cpu(verdict).run({}, sizes={"out": [(-6, 12), (-2, 7)]})["out"]
    values = np.tile(3 + np.arange(-7, 5), (8, 1))
    for y in range(1, 4):
        for step in range(4):
            here = step + np.arange(-7, 5) > y
            values[y + 3] = np.where(here, values[y + 2] + step * 3, values[y + 3])
    np.testing.assert_array_equal(found, values[:7])
    seen = replay_nest(verdict.nest, {"out.min.0": -6, "out.extent.0": 8})
    assert FaultKind.OUTSIDE not in {fault.kind for fault in seen.faults}


def test_a_nest_without_its_predicates_is_not_as_defined() -> None:
    """It also reads more of the image than it declares."""
    nest = loop_nest(triangle(), Schedule.default(triangle()))
    broken = changed(nest, lambda n: evolve(n, predicates=()) if isinstance(n, Compute) else n)
    report = prove(broken)
    missing = [p for p in report.proofs if p not in report.proven]
    assert {p.obligation.kind for p in missing} == {"bounds", "definition"}


def test_inline_reductions_leave_points_out() -> None:
    source, out = ImageParam(UInt8, 2, "input"), Func("out")
    r = RDom([(-2, 5), (-2, 5)], "disk")
    r.where(r.x * r.x + r.y * r.y <= 4)
    r.where(r.x != X)
    value = cast(Int32, source[X + r.x + 2, Y + r.y + 2])
    low = argmin(value)
    out[X, Y] = sum(value) + 100 * low[0] + 10 * low[1]
    algorithm = pipeline(out)
    pixels = np.random.default_rng(1).integers(0, 256, (9, 10), np.uint8)
    text = "sum.compute_at(out, y).vectorize(x, 4); argmin.compute_at(out, x)"
    found = compile_cpu(checked(algorithm, text)).run({"input": pixels}, sizes={"out": [6, 5]})[
        "out"
    ]
    for y, x in np.ndindex(5, 6):
        disk = [
            (int(pixels[y + j + 2, x + i + 2]), i, j)
            for j in range(-2, 3)
            for i in range(-2, 3)
            if i * i + j * j <= 4 and i != x
        ]
        _, i, j = min(disk, key=lambda point: point[0])
        total = np.sum([value for value, _, _ in disk])
        assert found[y, x] == total + 100 * i + 10 * j


def test_predicates_are_written_and_read() -> None:
    algorithm = picky()
    assert from_json(to_json(algorithm), Pipeline) == algorithm
    stage = algorithm.function("total").stages[1]
    assert [str(p) for p in stage.predicates] == [
        "r.x + r.y < 9",
        "input(r.x, r.y) > 0",
        "mark(r.x) != 1",
        "total(x) < 90",
    ]
    text = halide_source(algorithm)
    assert "r.where(r.x + r.y < 9);" in text
    assert text.index("r.where(total(x) < 90);") < text.index("total(x) = total(x)")


def test_mistakes_with_predicates_are_sentences() -> None:
    r, s, f = RDom([(0, 3)], "r"), RDom([(0, 3)], "s"), Func("f")
    f[X, Y] = X
    with pytest.raises(DefinitionError, match=r"takes a condition, but `r\.x` is int32"):
        r.where(r.x)
    with pytest.raises(DefinitionError, match="mentions RDom s; a predicate may use"):
        r.where(r.x < s.x)
    r.where(f[X, r.x] > Y)
    with pytest.raises(DefinitionError, match="Var y in an update definition of Func f is not"):
        f[X, 0] += r.x
    g = Func("g")
    g[X] = X
    g[X] = fn.max(g[X], s.x)
    with pytest.raises(DefinitionError, match=r"An update of Func g uses RDom s before where"):
        s.where(s.x < 2)
