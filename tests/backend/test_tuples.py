"""Funcs of several values: all values are evaluated before one is stored, and each has an array."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.arguments import ArgumentError
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.halide.source import halide_source
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.backend.replay import replay_nest
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import search
from spaces.model.algorithm.consistency import pipeline_problems
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func, Tuple
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.reductions import argmax, argmin, product
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Call, cast
from spaces.model.expressions.types import Int16, Int32, UInt8
from spaces.model.nest.loopnest import loop_nest
from spaces.model.nest.nest_text import format_nest
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import parse_schedule
from tests.small_space import small_space

X, Y = Var("x"), Var("y")

PIXELS = np.random.default_rng(3).integers(0, 6, (11, 40), np.uint8)


def swaps(*size: int) -> Pipeline:
    """The two values of ``pair`` change places twice, in arrays of different types."""
    source, pair, out = ImageParam(UInt8, 2, "input"), Func("pair"), Func("out")
    pair[X, Y] = (cast(Int32, source[X, Y]) + X, source[X, Y])
    pair[X, Y] = (cast(Int32, pair[X, Y][1]) * 7, cast(UInt8, pair[X, Y][0]))
    r = RDom([(0, 3)], "r")
    pair[X, Y] = Tuple(pair[X, Y][0] + pair[X, Y][1] + r, cast(UInt8, pair[X, Y][0]))
    out[X, Y] = pair[X, Y][0] * 3 + pair[X + 1, Y][1]
    return pipeline(out, estimates={out: size or (16, 8)})


def swapped(width: int, height: int) -> np.ndarray:
    """The same values by NumPy."""
    pixels = PIXELS[:height, : width + 1].astype(np.int64)
    first, second = pixels * 7, (pixels + np.arange(width + 1)) % 256
    for step in range(3):
        first, second = first + second + step, first % 256
    return first[:, :-1] * 3 + second[:, 1:]


SWAPS_ON_CPU = [
    "pair.compute_root()",
    "out.vectorize(x, 8).parallel(y); pair.compute_at(out, y).vectorize(x, 4);"
    "pair.update(0).vectorize(x, 8); pair.update(1).reorder(x, r.x).vectorize(x, 4)",
    "out.split(y, y, yi, 4).parallel(y); pair.store_at(out, y).compute_at(out, yi);"
    "pair.update(0).unroll(x, 2)",
    "out.split(y, y, yi, 4); pair.store_at(out, y).compute_at(out, yi).fold_storage(y, 1)",
]


def checked(algorithm: Pipeline, text: str, name: str = "cpu") -> CheckedSchedule:
    verdict = verify(algorithm, parse_schedule(text, algorithm), device(name))
    assert isinstance(verdict, CheckedSchedule), verdict
    return verdict


@pytest.mark.parametrize("text", SWAPS_ON_CPU)
def test_values_change_places_under_every_schedule(text: str) -> None:
    algorithm = swaps()
    verdict = checked(algorithm, text)
    sizes = {"out": [21, 9]}
    found = compile_cpu(verdict).run({"input": PIXELS}, sizes=sizes)["out"]
    np.testing.assert_array_equal(found, swapped(21, 9))
    np.testing.assert_array_equal(
        evaluate(algorithm, {"input": PIXELS}, sizes=sizes)["out"], swapped(21, 9)
    )
    report = prove(verdict)
    assert not report.refuted
    assert len(report.proven) == len(report.proofs)
    seen = replay_nest(verdict.nest, {"out.extent.0": 9, "out.extent.1": 8})
    assert not seen.wrong


def test_short_vectors_of_narrow_values_are_stored_in_their_lanes_only() -> None:
    """One lane of four is active; the memory beside it is the next row."""
    source, pair, out = ImageParam(Int32, 2, "input"), Func("pair"), Func("out")
    pair[X, Y] = (source[X, Y], cast(Int16, X - Y))
    pair[X, Y] = (cast(Int32, pair[X, Y][1]) * 3, cast(Int16, pair[X, Y][0] + Y))
    out[X, Y] = pair[X, Y][0] + cast(Int32, pair[X, Y - 1][1]) * 2
    algorithm = pipeline(out)
    text = (
        "out.fuse(x, y, t).parallel(t);"
        "pair.compute_at(out, t).split(y, y, yi, 4, TailStrategy::RoundUp).reorder(y, yi);"
        "pair.update(0).split(y, y, yi, 4, TailStrategy::Predicate)"
        ".split(x, x, xi, 4, TailStrategy::GuardWithIf).vectorize(xi)"
    )
    values = PIXELS.astype(np.int32)
    compiled = compile_cpu(checked(algorithm, text))
    sizes = {"out": [(4, 8), (1, 7)], "input": [40, 11]}
    found = compiled.run({"input": values}, sizes=sizes)["out"]
    x, y = np.arange(4, 12), np.arange(1, 8)[:, None]
    np.testing.assert_array_equal(found, (x - y) * 3 + (values[:7, 4:12] + y - 1) * 2)


@pytest.mark.parametrize("tail", ["ShiftInwards", "GuardWithIf"])
def test_values_change_places_on_a_gpu(tail: str) -> None:
    algorithm = swaps()
    text = (
        f"out.gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::{tail});"
        "pair.compute_at(out, x).gpu_threads(x, y);"
        "pair.update(0).gpu_threads(x, y); pair.update(1).gpu_threads(x, y)"
    )
    compiled = compile_gpu(checked(algorithm, text, "sm_80"))
    found = compiled.run({"input": PIXELS}, sizes={"out": [21, 9]})["out"]
    np.testing.assert_array_equal(found, swapped(21, 9))
    assert "__shared__ int pair_0" in compiled.source
    assert "__shared__ unsigned char pair_1" in compiled.source


def test_shared_memory_holds_all_components() -> None:
    """A tile of 256 x 256 reads 257 x 256 elements of 4 + 1 bytes."""
    algorithm = swaps()
    text = (
        "out.split(x, x, xi, 256).split(xi, xi, xv, 8).split(y, y, yi, 256).split(yi, yi, yv, 8)"
        ".reorder(xv, yv, xi, yi, x, y).gpu_blocks(x, y).gpu_threads(xi, yi);"
        "pair.compute_at(out, x)"
    )
    verdict = verify(algorithm, parse_schedule(text, algorithm), device("sm_80"))
    messages = " ".join(v.message for v in verdict.violations)
    assert "257 x 256 x 5 bytes = 328960" in messages


def nearest() -> Pipeline:
    """The darkest and the brightest place of each window of 5 x 2 pixels, as a Tuple that is an
    output.
    """
    source, out = ImageParam(UInt8, 2, "input"), Func("out")
    r = RDom([(0, 5), (0, 2)], "r")
    low, high = argmin(source[X + r.x, Y + r.y]), argmax(source[X + r.x, Y + r.y])
    out[X, Y] = (*low, high[0], high[1])
    return pipeline(out)


def windows(width: int, height: int) -> list[np.ndarray]:
    found = [np.zeros((height, width), int) for _ in range(5)]
    for y, x in np.ndindex(height, width):
        window = PIXELS[y : y + 2, x : x + 5].reshape(-1)
        low, high = int(window.argmin()), int(window.argmax())
        values = (low % 5, low // 5, window[low], high % 5, high // 5)
        for array, value in zip(found, values, strict=True):
            array[y, x] = value
    return found


@pytest.mark.parametrize(
    "text",
    [
        "argmin.compute_root(); argmax.compute_root()",
        "out.vectorize(x, 4).parallel(y); argmin.compute_at(out, y).vectorize(x, 8);"
        "argmin.update(0).reorder(x, r.x, r.y).vectorize(x, 4); argmax.compute_at(out, x)",
    ],
)
def test_argmin_and_argmax_find_the_first(text: str) -> None:
    algorithm = nearest()
    verdict = checked(algorithm, text)
    assert not prove(verdict).refuted
    found = compile_cpu(verdict).run({"input": PIXELS}, sizes={"out": [12, 7]})
    assert list(found) == ["out.0", "out.1", "out.2", "out.3", "out.4"]
    assert [str(a.dtype) for a in found.values()] == ["int32", "int32", "uint8", "int32", "int32"]
    for array, wanted in zip(found.values(), windows(12, 7), strict=True):
        np.testing.assert_array_equal(array, wanted)


def test_schedules_of_outputs_are_chosen_by_their_sizes() -> None:
    algorithm = nearest()
    text = (
        "argmin.compute_root(); argmax.compute_root();"
        "out.specialize(out.dim(0).extent() >= 8).vectorize(x, 8);"
        'out.specialize_fail("too narrow")'
    )
    compiled = compile_cpu(checked(algorithm, text))
    found = compiled.run({"input": PIXELS}, sizes={"out": [12, 7]})
    for array, wanted in zip(found.values(), windows(12, 7), strict=True):
        np.testing.assert_array_equal(array, wanted)
    with pytest.raises(SizeError, match="too narrow"):
        compiled.run({"input": PIXELS}, sizes={"out": [7, 7]})


def test_ties_need_the_order_of_the_reduction() -> None:
    algorithm = nearest()
    text = "argmax.compute_root(); argmin.compute_root().update(0).reorder(r.y, r.x, x, y)"
    verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    assert {v.rule for v in verdict.violations} == {"order.reduction"}


def test_outputs_are_written_into_given_arrays() -> None:
    algorithm = nearest()
    compiled = compile_cpu(checked(algorithm, "argmin.compute_root()"))
    given = {"out.1": np.full((7, 12), -1, np.int32), "out.2": np.zeros((7, 12), np.uint8)}
    found = compiled.run({"input": PIXELS}, out=given)
    assert found["out.2"] is given["out.2"]
    np.testing.assert_array_equal(given["out.1"], windows(12, 7)[1])
    with pytest.raises(ArgumentError, match=r"Output out.2 has the extents \[12, 8\]"):
        compiled.run({"input": PIXELS}, out={**given, "out.1": np.zeros((8, 12), np.int32)})
    with pytest.raises(ArgumentError, match=r"has no output 'out'; it has out.0, out.1"):
        compiled.run({"input": PIXELS}, out={"out": given["out.1"]})


def test_accumulations_are_by_component() -> None:
    source, total, out = ImageParam(UInt8, 1, "input"), Func("total"), Func("out")
    r = RDom([(0, 6)], "r")
    value = cast(Int32, source[r])
    total[()] += (value, 1)
    total[()] -= (value * 2, r.x)
    out[X] = total[()][0] * X + total[()][1] + product(value + 1)
    algorithm = pipeline(out)
    row = PIXELS[0, :6].astype(int)
    wanted = -row.sum() * np.arange(4) + 6 - 15 + (row + 1).prod()
    text = "product.compute_root(); total.compute_root().update(0).vectorize(r.x, 2)"
    assert verify(algorithm, parse_schedule(text, algorithm), device("cpu")).violations
    compiled = compile_cpu(checked(algorithm, text.split(".update")[0]))
    found = compiled.run({"input": PIXELS[0]}, sizes={"out": [4]})["out"]
    np.testing.assert_array_equal(found, wanted)


def crossed() -> Pipeline:
    """Two sums, and each reads the other component: their order matters."""
    pair, out = Func("pair"), Func("out")
    r = RDom([(0, 9)], "r")
    pair[X] = (X, X * 0 + 1)
    pair[X] = (pair[X][1] + r, pair[X][0] + 2 * r)
    out[X] = pair[X][0] * 1000 + pair[X][1]
    return pipeline(out)


def test_sums_of_the_other_component() -> None:
    algorithm = crossed()
    first, second = np.arange(3), np.ones(3, int)
    for step in range(9):
        first, second = second + step, first + 2 * step
    wanted = first * 1000 + second
    found = compile_cpu(checked(algorithm, "pair.compute_root()")).run({}, sizes={"out": [3]})[
        "out"
    ]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(evaluate(algorithm, {}, sizes={"out": [3]})["out"], wanted)
    text = "pair.compute_root().update(0).split(r.x, o, i, 3).reorder(o, i, x)"
    verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    assert {v.rule for v in verdict.violations} == {"order.reduction"}


def test_a_pure_tuple_can_be_inlined() -> None:
    source, pair, out = ImageParam(UInt8, 1, "input"), Func("pair"), Func("out")
    pair[X] = (source[X] + 1, cast(Int32, source[X]) - 5)
    out[X] = pair[X + 1][1] * pair[X][0]
    algorithm = pipeline(out)
    found = compile_cpu(checked(algorithm, "")).run({"input": PIXELS[0]}, sizes={"out": [9]})["out"]
    row = PIXELS[0].astype(int)
    np.testing.assert_array_equal(found, (row[1:10] - 5) * (row[:9] + 1))


def test_tuples_are_written_and_read() -> None:
    algorithm = swaps()
    assert from_json(to_json(algorithm), Pipeline) == algorithm
    nest = loop_nest(algorithm, checked(algorithm, "pair.compute_root()").schedule)
    assert "store pair: (int32, uint8)[" in format_nest(nest)
    assert "Tuple(" in halide_source(algorithm)
    assert "pair(x + 1, y)[1]" in halide_source(algorithm)


def test_spaces_of_tuples_are_searched() -> None:
    algorithm = swaps(1024, 768)
    space = small_space(algorithm, device("cpu"))
    *_, done = search(space, cost_model("reuse", device("cpu")), "stagewise", Limits(top=1))
    verdict = verify(algorithm, done.best[0].schedule, device("cpu"))
    assert isinstance(verdict, CheckedSchedule)


def test_calls_of_tuples_must_fit() -> None:
    algorithm = swaps()
    broken = to_json(algorithm).replace('"component": 1', '"component": 2', 1)
    assert "another type" in str(_refused(broken))
    assert not pipeline_problems(algorithm)
    assert Call(Int32, "f", (X,)) is Call(Int32, "f", (X,), None)
    assert Call(Int32, "f", (X,)) is not Call(Int32, "f", (X,), 0)
    assert str(Call(Int32, "f", (X,), 1)) == "f(x)[1]"


def _refused(text: str) -> ValueError:
    with pytest.raises(ValueError, match="not a sound Pipeline") as caught:
        from_json(text, Pipeline)
    return caught.value


def test_mistakes_with_tuples_are_sentences() -> None:
    f = Func("f")
    f[X] = (X, fn.min(X, 3))
    with pytest.raises(DefinitionError, match=r"Func f is a Tuple of 2 values; .* f\(x\)\[0\]"):
        f[X] + 1
    with pytest.raises(DefinitionError, match=r"Func f has 2 values; there is no f\(x\)\[2\]"):
        f[X][2]
    with pytest.raises(DefinitionError, match="has 2 values, but its update gives 3"):
        f[X] = (1, 2, 3)
    with pytest.raises(DefinitionError, match=r"update of Func f\[1\] has type uint8"):
        f[X] = (f[X][1], cast(UInt8, X))
    with pytest.raises(DefinitionError, match="types of their own"):
        _ = f.type
    g = Func("g")
    g[X] = X
    with pytest.raises(DefinitionError, match="has one value; there is no"):
        g[X][0]
