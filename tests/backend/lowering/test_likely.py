"""Loops are split by tests with a hint, and the steady state takes the likely side."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, walk
from spaces.model.expressions.integer_functions import likely, likely_if_innermost
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import loop_nest
from spaces.model.writing.text import parse_schedule
from tests.differential.quick_code import quick_code
from tests.draw_counts import some

X, Y = Var("x"), Var("y")
INPUT, LUT = ImageParam(Int32, 2, "input"), ImageParam(Int32, 1, "lut")
TABLE = np.random.default_rng(2).integers(-9, 50, 40).astype(np.int32)
IMAGE = np.random.default_rng(1).integers(-99, 99, (20, 40)).astype(np.int32)

TESTS: dict[str, tuple[Callable[[Expr, Expr], Expr], int]] = {
    "first": (lambda a, b: fn.select(likely(X < 3), a, b), 2),
    "last": (lambda a, b: fn.select(X < 30, a, likely(b)), 2),
    "between": (lambda a, b: fn.select(likely((X >= 2) & (X < 35)), a, b), 3),
    "outside": (lambda a, b: fn.select((X < 2) | (X > 35), a, likely(b)), 3),
    "not": (lambda a, b: fn.select(likely(~(X < 9)), a, b), 2),
    "limited": (lambda a, b: fn.min(likely(X), 7) * a + b, 2),
    "of rows": (lambda a, b: fn.select(likely(Y > 4), a, b), 1),
    "of columns, if innermost": (lambda a, b: fn.select(likely_if_innermost(X > 4), a, b), 2),
    "of rows, if innermost": (lambda a, b: fn.select(likely_if_innermost(Y > 4), a, b), 1),
    "of data": (lambda a, b: fn.select(likely(a > 4), a, b), 1),
    "in a sum": (lambda a, b: fn.select(X < 9, a, likely(b) * 3), 2),
    "in an arm": (lambda a, b: fn.select(X < 9, a, fn.min(likely(b), a)), 2),
    "over one inside": (lambda a, b: fn.select(X < 9, fn.min(likely(b), a), likely(b)), 2),
    "in both": (lambda a, b: fn.select(X < 9, likely(a), likely(b)), 1),
    "unsaid": (lambda a, b: fn.select(X < 3, a, b), 1),
}
"""Values, and the number of loops over x that compute a row."""


PLACES: dict[str, tuple[Callable[[], Expr], int]] = {
    "arm": (lambda: fn.select(X > 3, likely(X), 0), 2),
    "limit": (lambda: fn.min(likely(X), 30), 2),
    "both": (lambda: fn.clamp(likely(X), 2, 30), 3),
    "inside": (lambda: fn.max(likely_if_innermost(X), 3) - 1, 2),
    "of rows": (lambda: fn.select(likely(Y > 4), X, 0), 1),
    "unsaid": (lambda: fn.min(X, 30), 1),
    "data": (lambda: fn.clamp(likely(LUT[X]), 0, 39), 1),
    "beside data": (lambda: fn.clamp(LUT[X] + fn.min(likely(X), 30), 0, 39), 2),
    "of data": (lambda: fn.clamp(LUT[fn.max(likely(X) - 3, 0)], 0, 39), 2),
    "of data and beside": (
        lambda: fn.clamp(LUT[fn.max(likely(X) - 3, 0)] + fn.min(likely(X), 30), 0, 39),
        3,
    ),
    "of data of data": (
        lambda: fn.clamp(LUT[fn.clamp(LUT[fn.min(likely(X), 9)], 0, 39)], 0, 39),
        2,
    ),
}
"""Coordinates, and the number of loops as above; Halide 21 makes as many."""


ABOUT_DATA = {"beside data": 1, "of data": 1, "of data and beside": 1, "of data of data": 2}
"""The number of tests on data that remain, because no part of a loop decides them."""


def hinted_func(test: str, name: str = "f") -> Func:
    f = Func(name)
    if test.startswith("at "):
        f[X, Y] = INPUT[PLACES[test.removeprefix("at ")][0](), Y]
    elif test.startswith("through "):
        place = Func(f"place_of_{name}")
        place[X, Y] = PLACES[test.removeprefix("through ")][0]()
        f[X, Y] = INPUT[place[X, Y], Y]
    else:
        f[X, Y] = TESTS[test][0](INPUT[X, Y], 5 - INPUT[X, Y])
    return f


def hinted(test: str) -> Pipeline:
    return pipeline(hinted_func(test))


def inputs(algorithm: Pipeline) -> dict[str, np.ndarray]:
    given = {"input": IMAGE, "lut": TABLE}
    return {image.name: given[image.name] for image in algorithm.images}


COUNTS = {
    **{test: count for test, (_, count) in TESTS.items()},
    **{f"at {test}": count for test, (_, count) in PLACES.items()},
    **{f"through {test}": count for test, (_, count) in PLACES.items() if "data" not in test},
}


@pytest.mark.parametrize(
    "text", ["", "f.vectorize(x, 8)", "f.parallel(y)", "f.never_partition_all()"]
)
@pytest.mark.parametrize("test", some(COUNTS))
def test_values_stay_those_of_the_reference(test: str, text: str) -> None:
    algorithm = hinted(test)
    checked = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    with quick_code():
        compiled = compile_cpu(checked)
    sizes = {"f": [40, 20]}
    wanted = evaluate(algorithm, inputs(algorithm), sizes=sizes)["f"]
    np.testing.assert_array_equal(compiled.run(inputs(algorithm), sizes=sizes)["f"], wanted)
    assert "likely" not in compiled.program_text("partition")


def loops(test: str, text: str) -> list[For]:
    """The loops over x after partition."""
    algorithm = hinted(test)
    program = lower(loop_nest(algorithm, parse_schedule(text, algorithm)))["partition"]
    found = [s for s in walk_nodes(program.body) if isinstance(s, For)]
    return [s for s in found if s.var.name == "f.s0.x"]


def questions(loop: For) -> int:
    """The number of tests in each iteration."""
    nodes = walk(*(e for s in walk_nodes(loop.body) for e in s.expressions))
    return sum(isinstance(n, Op) and n.name in ("lt", "le", "gt", "ge", "min") for n in nodes)


@pytest.mark.parametrize("test", COUNTS)
def test_the_likely_side_needs_no_test(test: str) -> None:
    count = COUNTS[test]
    split = loops(test, "f.never_partition(y)")
    assert len(split) == count
    asked = [questions(loop) for loop in split]
    left = ABOUT_DATA.get(test.split(" ", 1)[-1], 0) if test not in TESTS else test == "in an arm"
    assert min(asked) == left if count > 1 else min(asked) > 0
    assert test not in TESTS or asked.count(min(asked)) == 1  # elsewhere all limits are numbers
    assert len(loops(test, "f.never_partition_all()")) == 1


def test_outer_loops_ask_once_a_row() -> None:
    usual, rest = loops("of rows", "")
    assert (questions(usual), questions(rest)) == (0, 1)
    assert len(loops("of rows, if innermost", "")) == 1


def test_halide_computes_the_same() -> None:
    bridge = pytest.importorskip("spaces.backend.halide.bridge", exc_type=ImportError)
    tests = some(COUNTS)
    algorithm = pipeline([hinted_func(test, f"f{n}") for n, test in enumerate(tests)])
    sizes = dict.fromkeys(algorithm.outputs, (40, 20))
    found = bridge.build(algorithm).realize(inputs(algorithm), sizes=sizes)
    wanted = evaluate(algorithm, inputs(algorithm), sizes=sizes)
    for name, test in zip(algorithm.outputs, tests, strict=True):
        np.testing.assert_array_equal(found[name], wanted[name], test)


@pytest.mark.parametrize("test", PLACES)
def test_halide_makes_as_many_loops(test: str) -> None:
    bridge = pytest.importorskip("spaces.backend.halide.bridge", exc_type=ImportError)
    if test == "of rows":
        pytest.skip("Halide ignores a hint on a condition")
    algorithm = hinted(f"at {test}")
    text = "f.never_partition(y)"
    source = pytest.importorskip("spaces.backend.halide.source")
    lowered = bridge.build(algorithm, parse_schedule(text, algorithm)).lowered("host")
    made = re.findall(r"for \(f\S*\.s0\.x\S*, ", lowered[lowered.index("produce f") :])
    assert len(made) == COUNTS[f"at {test}"]
    assert "likely" in source.halide_source(algorithm) or test == "unsaid"
