"""Conditions on coordinates and pixels: a run ends where they do not hold, and only there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.arguments import RequirementError
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.llvm.runtime.helpers import scratch_bytes
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.require import require
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Float64, Int16, Int32, UInt8, UInt64
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import parse_schedule
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
WIDTH, HEIGHT = 43, 21
IMAGE = (np.arange(WIDTH * HEIGHT) % 150).astype(np.uint8).reshape(HEIGHT, WIDTH)
ON_CPU = (
    "",
    "f.vectorize(x, 8, GuardWithIf).parallel(y)",
    "f.vectorize(x, 16).unroll(y, 2, GuardWithIf)",
    "g.compute_root().vectorize(x, 8, Predicate)\nf.vectorize(x, 8, Predicate)",
    "g.compute_at(f, y).vectorize(x, 8)\nf.parallel(y)",
    "f.tile(x, y, xi, yi, 8, 8).vectorize(xi).parallel(y)\n"
    "g.compute_at(f, x).store_in(MemoryType::Heap).vectorize(x, 8)",
    "f.split(y, y, yi, 4).parallel(y)\ng.store_at(f, y).compute_at(f, yi).vectorize(x, 8)",
)


def dark() -> Pipeline:
    """Doubled pixels, which must be below 200; it reads two rows."""
    image = ImageParam(UInt8, 2, "input")
    g, f = Func("g"), Func("f")
    g[X, Y] = require(image[X, Y] < 200, cast(Int32, image[X, Y]) + 1, "Pixels are below", 200)
    f[X, Y] = g[X, Y] + g[X, Y + 1]
    return pipeline(f)


DARK = dark()
SIZES = {"f": [WIDTH, HEIGHT - 1]}


@cache
def compiled(text: str, algorithm: Pipeline = DARK, threads: int = 2) -> CompiledPipeline:
    checked = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    return compile_cpu(checked, threads=threads)


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(ON_CPU), st.integers(0, WIDTH - 1), st.integers(0, HEIGHT - 1),
       st.integers(198, 202))  # fmt: skip
def test_one_pixel_decides(text: str, x: int, y: int, pixel: int) -> None:
    run = compiled(text).run
    image = IMAGE.copy()
    image[y, x] = pixel
    if pixel >= 200:
        with pytest.raises(RequirementError, match=r"^Pixels are below 200$"):
            run({"input": image}, sizes=SIZES)
        at = rf"^Pixels are below 200\. Here x is {x}, y is {y}, input\(x, y\) is {pixel}\.$"
        with pytest.raises(RequirementError, match=at):
            evaluate(DARK, {"input": image}, sizes=SIZES)
        return
    wide = image.astype(np.int32) + 1
    for found in (
        run({"input": image}, sizes=SIZES),
        evaluate(DARK, {"input": image}, sizes=SIZES),
    ):
        np.testing.assert_array_equal(found["f"], wide[:-1] + wide[1:])


def test_stopping_keeps_no_memory() -> None:
    bright = IMAGE.copy()
    bright[-1, -1] = 255
    for text in ON_CPU[3:]:
        program = compiled(text, threads=1)  # each thread keeps its own blocks
        program.run({"input": IMAGE}, sizes=SIZES)
        kept = []
        for _ in range(30):
            with pytest.raises(RequirementError):
                program.run({"input": bright}, sizes=SIZES)
            kept.append(scratch_bytes())
        # Freed memory is kept for the next run, which then allocates no more.
        assert kept[-1] == kept[9]


def test_requirements_on_coordinates() -> None:
    image, table, f = ImageParam(UInt8, 2, "input"), ImageParam(Int32, 1, "table"), Func("f")
    at = cast(Int32, image[X, Y])
    f[X, Y] = table[fn.clamp(require(at < 10, at, "There is no such entry."), 0, 9)]
    algorithm = pipeline(f)
    inputs = {"table": np.arange(10, dtype=np.int32) * 7}
    for text in ("", "f.vectorize(x, 8)"):
        for run in (
            compiled(text, algorithm).run,
            lambda i, sizes: evaluate(algorithm, i, sizes=sizes),
        ):
            low = run({**inputs, "input": IMAGE % 10}, sizes={"f": [16, 5]})["f"]
            np.testing.assert_array_equal(low, (IMAGE[:5, :16] % 10) * np.int32(7))
            with pytest.raises(RequirementError, match="no such entry"):
                run({**inputs, "input": IMAGE % 11}, sizes={"f": [16, 5]})
    assert from_json(to_json(algorithm), Pipeline) == algorithm


def test_a_func_that_is_inlined_into_coordinates_still_requires() -> None:
    image, table = ImageParam(UInt8, 1, "input"), ImageParam(Int32, 1, "table")
    entry, f = Func("entry"), Func("f")
    at = cast(Int32, image[X])
    entry[X] = fn.clamp(require(at < 10, at, "There is no such entry."), 0, 9)
    f[X] = table[entry[X]]
    algorithm = pipeline(f)
    inputs = {"table": np.arange(10, dtype=np.int32), "input": np.arange(8, dtype=np.uint8)}
    run = compiled("f.vectorize(x, 4)", algorithm).run
    assert run(inputs, sizes={"f": [8]})["f"].tolist() == list(range(8))
    with pytest.raises(RequirementError, match="no such entry"):
        run({**inputs, "input": inputs["input"] + np.uint8(3)}, sizes={"f": [8]})


@pytest.mark.parametrize(
    "text", ["", "f.update(0).vectorize(y, 4, GuardWithIf)", "f.update(0).parallel(y)"]
)
def test_updates_require_where_they_do_something(text: str) -> None:
    image, f = ImageParam(UInt8, 2, "input"), Func("f")
    r = RDom([(0, 8)], "r")
    r.where(image[r.x, Y] != 255)
    f[Y] = (0, 1)
    value = require(image[r.x, Y] < 100, cast(Int32, image[r.x, Y]), "It is too bright.")
    f[Y] = (f[Y][0] + value, require(f[Y][1] > 0, f[Y][1] + 1))
    algorithm = pipeline(f)
    image_given = np.full((6, 8), 99, np.uint8)
    image_given[:, 3] = 255  # excluded, and its conditions too
    runs = (compiled(text, algorithm).run, lambda i, sizes: evaluate(algorithm, i, sizes=sizes))
    for run in runs:
        found = run({"input": image_given}, sizes={"f": [6]})
        assert found["f.0"].tolist() == [7 * 99] * 6
        assert found["f.1"].tolist() == [8] * 6
        bright = image_given.copy()
        bright[4, 6] = 100
        with pytest.raises(RequirementError, match="too bright"):
            run({"input": bright}, sizes={"f": [6]})


def where(asked: Func, r: RDom) -> Func:
    f = Func("f")
    r.where((asked[r.x] + X) % 3 != 1)
    f[X] = 0
    f[X] += r.x
    return f


def second_where(asked: Func, r: RDom) -> Func:
    f = Func("f")
    r.where(r.x != 6)
    r.where(asked[r.x] > 2)
    f[X] = 0
    f[X] += r.x
    return f


def left_side(asked: Func, r: RDom) -> Func:
    f = Func("f")
    f[X] = 0
    f[fn.clamp(asked[r.x], 0, 7)] = r.x
    return f


def coordinate_of_update(asked: Func, r: RDom) -> Func:
    f, h = Func("f"), Func("h")
    h[X] = X * 3
    f[X] = 0
    f[X] += h[fn.clamp(asked[r.x], 0, 9)]
    return f


@pytest.mark.parametrize("text", ["", "asked.compute_root()", "VECTOR"])
@pytest.mark.parametrize("making", [where, second_where, left_side, coordinate_of_update])
@pytest.mark.parametrize("limit", [7, 8])
def test_a_func_that_is_inlined_where_a_stage_says_where_still_requires(
    making: Callable[[Func, RDom], Func], text: str, limit: int
) -> None:
    """All coordinates 0 to 7 must be less than ``limit``."""
    if making is left_side and text == "VECTOR":
        pytest.skip("an update without Vars has no loop to vectorize")
    asked = Func("asked")
    bound = Param(Int32, "bound")
    asked[X] = require(bound > X, X, "Coordinates are below", bound)
    algorithm = pipeline(making(asked, RDom([(0, 8)], "r")))
    text = "f.vectorize(x, 4)\nf.update(0).vectorize(x, 4)" if text == "VECTOR" else text
    checked = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    assert isinstance(checked, CheckedSchedule), str(checked)
    result = prove(checked)
    assert result.proven == result.proofs
    program = compile_cpu(checked)
    params, sizes = {"bound": limit}, {"f": [8]}
    if limit < 8:
        for run in (lambda: program.run({}, params, sizes=sizes),
                    lambda: evaluate(algorithm, {}, params, sizes)):  # fmt: skip
            with pytest.raises(RequirementError, match="Coordinates are below 7"):
                run()
    else:
        found, wanted = program.run({}, params, sizes=sizes), evaluate(algorithm, {}, params, sizes)
        np.testing.assert_array_equal(found["f"], wanted["f"])


def test_predicates_and_left_sides_require_nothing() -> None:
    image, f = ImageParam(UInt8, 1, "input"), Func("f")
    r = RDom([(0, 4)], "r")
    f[X] = 0
    f[cast(Int32, require(image[r] < 3, image[r]))] = 1
    with pytest.raises(DefinitionError, match=r"put it around the right side"):
        pipeline(f)


def test_c_programs_get_the_message_that_ends_them() -> None:
    header = compiled("").c_header()
    assert "Pixels are below 200" in header.split("the number of the assert that fails")[1]


def told() -> Pipeline:
    """Messages with values of every kind of type."""
    image, wide = ImageParam(UInt8, 2, "input"), ImageParam(UInt64, 2, "wide")
    real = ImageParam(Float32, 2, "real")
    g, f = Func("g"), Func("f")
    pixel = image[X, Y]
    message = ("At", X, Y, "is", pixel, "of", wide[X, Y], real[X, Y], cast(Float64, real[X, Y]))
    g[X, Y] = require(pixel < 200, cast(Int32, pixel) - 9, *message, pixel > 250, "!")
    f[X, Y] = require(g[X, Y] > -9, g[X, Y], "Black:", g[X, Y], cast(Int16, g[X, Y]) * 1000)
    return pipeline(f)


TOLD = told()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f.vectorize(x, 8, GuardWithIf).parallel(y)",
        "g.compute_root().vectorize(x, 8, Predicate)\nf.vectorize(x, 8, GuardWithIf)",
        "g.compute_at(f, y).vectorize(x, 8)\nf.vectorize(x, 4).parallel(y)",
        "f.tile(x, y, xi, yi, 4, 4, GuardWithIf).vectorize(xi).vectorize(yi)",
    ],
)
def test_messages_tell_values(text: str) -> None:
    run = compiled(text, TOLD).run
    wide = np.full((HEIGHT, WIDTH), 2**64 - 7, np.uint64)
    real = np.full((HEIGHT, WIDTH), -0.125, np.float32)
    for (x, y), pixel, said in (
        ((41, 7), 251, f"At 41 7 is 251 of {2**64 - 7} -0.125000 -1.250000e-01 true !"),
        ((3, 20), 200, f"At 3 20 is 200 of {2**64 - 7} -0.125000 -1.250000e-01 false !"),
        ((42, 0), 0, "Black: -9 -9000"),
    ):
        image = np.maximum(IMAGE, 1)
        image[y, x] = pixel
        inputs = {"input": image, "wide": wide, "real": real}
        with pytest.raises(RequirementError) as stopped:
            run(inputs, sizes={"f": [WIDTH, HEIGHT]})
        assert str(stopped.value) == said
        with pytest.raises(RequirementError) as stopped:
            evaluate(TOLD, inputs, sizes={"f": [WIDTH, HEIGHT]})
        assert str(stopped.value).startswith(f"{said}. Here ")
    assert run({**inputs, "input": np.maximum(IMAGE, 1)}, sizes={"f": [WIDTH, HEIGHT]})
    assert from_json(to_json(TOLD), Pipeline) == TOLD


def test_many_threads_tell_values_of_one_of_them() -> None:
    image = np.full((HEIGHT, WIDTH), 255, np.uint8)
    image[:] -= np.arange(WIDTH, dtype=np.uint8)
    wide = (np.arange(WIDTH) + 1000 * np.arange(HEIGHT)[:, None]).astype(np.uint64)
    inputs = {"input": image, "wide": wide, "real": wide.astype(np.float32)}
    run = compiled("f.parallel(y)", TOLD).prepare(inputs, sizes={"f": [WIDTH, HEIGHT]})
    for _ in range(50):
        with pytest.raises(RequirementError) as stopped:
            run()
        _, x, y, _, pixel, _, number, real, *_ = str(stopped.value).split()
        assert (int(pixel), int(number)) == (255 - int(x), int(x) + 1000 * int(y))
        assert float(real) == int(number)


def test_c_programs_get_values() -> None:
    header = compiled("", TOLD).c_header()
    assert "    int64_t *report;" in header
    assert "At {1} {2} is {3} of {4} {5} {6} {7} !" in header
    assert "points to 8 words" in header
