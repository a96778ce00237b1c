"""Generated code, operator by operator, against the reference, and its metadata for LLVM."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, binary, cast, compare, constant
from spaces.model.expressions.types import (
    SCALAR_TYPES,
    Bool,
    Float32,
    Float64,
    Int16,
    Int32,
    Type,
    UInt8,
    UInt16,
)
from spaces.model.nest.loopnest import loop_nest
from tests.backend.cpu_pipelines import random_image
from tests.backend.cpu_runs import check, check_values

X, Y = Var("x"), Var("y")

NUMBERS = [t for t in SCALAR_TYPES.values() if not t.is_bool]
ARITHMETIC = ("add", "sub", "mul", "div", "mod", "min", "max")


Outputs = dict[str, np.ndarray]


def on_images(type: Type, expr: Expr, *, vectors: bool) -> tuple[np.ndarray, np.ndarray]:
    """The values of compiled code and of the reference for ``expr`` over random images a and b."""
    found, wanted = all_on_images(expr, vectors=vectors)
    return found["out"], wanted["out"]


def all_on_images(values: Expr | tuple[Expr, ...], *, vectors: bool) -> tuple[Outputs, Outputs]:
    """The same for one value or several, by the name of the output."""
    out = Func("out")
    out[X] = values
    algorithm = pipeline(out)
    directives = schedule(algorithm)
    if vectors:
        directives = directives.vectorize("x", 16, "guard_with_if")
    inputs = {i.name: random_image(i.type, (999,), ord(i.name)) for i in algorithm.images}
    sizes = {"out": [999]}
    found = compile_cpu_unchecked(algorithm, directives.schedule).run(inputs, sizes=sizes)
    return found, evaluate(algorithm, inputs, sizes=sizes)


def images(type: Type) -> tuple[Expr, Expr]:
    return ImageParam(type, 1, "a")[X], ImageParam(type, 1, "b")[X]


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_arithmetic_is_exact(type: Type, vectors: bool) -> None:
    a, b = images(type)
    total: Expr = constant(0, type)
    for number, name in enumerate(ARITHMETIC):
        # A selector keeps the operators apart, so that one call tests all.
        part = binary(name, a, b)
        total = fn.select(X % len(ARITHMETIC) == number, part, total)
    np.testing.assert_array_equal(*on_images(type, total, vectors=vectors), strict=True)


def assert_same_on_images(values: tuple[Expr, ...], *, vectors: bool) -> None:
    """Asserts that one call computes all values as the reference does."""
    found, wanted = all_on_images(values, vectors=vectors)
    assert len(found) == len(values)
    for output, expected in wanted.items():
        np.testing.assert_array_equal(found[output], expected, err_msg=output, strict=True)


def quotients(type: Type, divisors: tuple[int, ...]) -> tuple[Expr, ...]:
    """Quotients and remainders of an image by numbers."""
    a, _ = images(type)
    numbers = [constant(divisor, type) for divisor in divisors]
    return tuple(Op(type, "div", (a, n)) * 3 + Op(type, "mod", (a, n)) for n in numbers)


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("type", [SCALAR_TYPES[n] for n in ("int8", "int16", "int32", "int64")])
def test_division_by_numbers_is_euclidean(type: Type, vectors: bool) -> None:
    divisors = (-128, -7, -2, -1, 0, 1, 2, 3, 5, 6, 7, 10, 64, 127)
    assert_same_on_images(quotients(type, divisors), vectors=vectors)


@pytest.mark.parametrize("type", [SCALAR_TYPES[f"uint{b}"] for b in (8, 16, 32, 64)], ids=str)
def test_division_of_unsigned_numbers(type: Type) -> None:
    assert_same_on_images(quotients(type, (0, 1, 2, 3, 7, 10, 255)), vectors=True)


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_comparisons_and_logic(type: Type, vectors: bool) -> None:
    a, b = images(type)
    tests = [compare(n, a, b) for n in ("lt", "le", "gt", "ge", "eq", "ne")]
    bits = tests[0] | (tests[1] & ~tests[2])
    numbers = [cast(UInt8, t) * (1 << i) for i, t in enumerate([*tests, bits])]
    np.testing.assert_array_equal(
        *on_images(type, sum(numbers[1:], numbers[0]), vectors=vectors), strict=True
    )


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("source", SCALAR_TYPES.values(), ids=str)
def test_casts_between_all_types(source: Type, vectors: bool) -> None:
    a, _ = images(source)
    casts = tuple(cast(target, a) for target in SCALAR_TYPES.values())
    assert_same_on_images(casts, vectors=vectors)


@pytest.mark.parametrize("type", [Float32, Float64], ids=str)
def test_exact_functions_of_floats(type: Type) -> None:
    a, b = images(type)
    for value in (fn.sqrt(a), fn.floor(a), fn.ceil(b), fn.abs(a) - b):
        np.testing.assert_array_equal(*on_images(type, value, vectors=True), strict=True)


FUNCTIONS = {
    "sin": (fn.sin, math.sin, (-4e4, 4e4)),
    "cos": (fn.cos, math.cos, (-4e4, 4e4)),
    "tan": (fn.tan, math.tan, (-1.5, 1.5)),
    "exp": (fn.exp, math.exp, (-103.0, 88.0)),
    "log": (fn.log, math.log, (1e-40, 1e6)),
    "pow": (lambda x: fn.pow(x, 2.2), lambda x: math.pow(x, np.float32(2.2)), (0.0, 1e4)),
}


def values_of(name: str, values: np.ndarray, lanes: int) -> np.ndarray:
    function, _, _ = FUNCTIONS[name]
    image, out = ImageParam(Float32, 1, "input"), Func("out")
    out[X] = function(image[X])
    algorithm = pipeline(out)
    directives = schedule(algorithm)
    directives = directives.vectorize("x", lanes, "guard_with_if") if lanes > 1 else directives
    compiled = compile_cpu_unchecked(algorithm, directives.schedule)
    return compiled.run({"input": values}, sizes={"out": [len(values)]})["out"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_rounded_nearly_always_to_the_nearest_float(name: str) -> None:
    _, exact, (low, high) = FUNCTIONS[name]
    values = np.random.default_rng(3).uniform(low, high, 4000).astype(np.float32)
    wanted = np.array([exact(float(v)) for v in values])
    units = np.abs(values_of(name, values, 8) - wanted) / np.spacing(np.abs(np.float32(wanted)))
    assert units.max() <= 0.51


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_do_not_depend_on_how_many_lanes_there_are(name: str) -> None:
    values = random_image(Float32, (997,), 5)
    alone, together = values_of(name, values, 1), values_of(name, values, 16)
    np.testing.assert_array_equal(alone.view(np.uint32), together.view(np.uint32))


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("sin", 0.0, 0.0),
        ("sin", math.inf, math.nan),
        ("cos", 1e30, math.cos(np.float32(1e30))),
        ("exp", math.inf, math.inf),
        ("exp", -math.inf, 0.0),
        ("exp", 89.0, math.inf),
        ("exp", -104.0, 0.0),
        ("exp", math.nan, math.nan),
        ("log", 0.0, -math.inf),
        ("log", -1.0, math.nan),
        ("log", math.inf, math.inf),
        ("pow", 0.0, 0.0),
        ("pow", -2.0, math.nan),
        ("pow", math.inf, math.inf),
    ],
)
def test_functions_at_the_ends_of_their_domains(name: str, value: float, result: float) -> None:
    found = values_of(name, np.full(9, value, np.float32), 8)
    np.testing.assert_array_equal(found, np.full(9, result, np.float32))


STRIDES = [X, X + 3, -X, X * 2, X * 2 + 1, X * 3, X * 4 + 2, X * 5, -2 * X, X / 2, X / 3, X * X]


@pytest.mark.parametrize("coordinate", STRIDES, ids=str)
def test_vector_loads_touch_only_the_read_elements(coordinate: Expr) -> None:
    for type in (UInt8, Int16, Float32, Float64, Bool):
        image, out = ImageParam(type, 1, "input"), Func("out")
        limited = fn.clamp(coordinate, -40, 80) if "x * x" in str(coordinate) else coordinate
        out[X] = image[limited]
        algorithm = pipeline(out)
        compiled = check(
            algorithm, schedule(algorithm).vectorize("x", 8).schedule, {"out": [(-2, 16)]}
        )
        check_values(compiled, {"out": [(-2, 16)]}, at_end=False)


def test_scattered_vector_stores() -> None:
    image, out = ImageParam(Int32, 2, "input"), Func("out")
    out[X, Y] = image[X, Y]
    algorithm = pipeline(out)
    directives = (
        schedule(algorithm).split("y", "y", "yi", 4).vectorize("yi").reorder("yi", "x", "y")
    )
    check(algorithm, directives.schedule, {"out": [(0, 7), (2, 12)]})


def ir_of(algorithm: Pipeline, directives: Directives, mode: FloatMode = FloatMode.STRICT) -> str:
    stages = lower(loop_nest(algorithm, directives.schedule))
    return llvm_module(list(stages.values())[-1], mode)


def float_chain() -> Pipeline:
    image, first, last = ImageParam(Float32, 2, "input"), Func("first"), Func("last")
    first[X, Y] = image[X, Y] * 2.0 + image[X + 1, Y]
    last[X, Y] = first[X, Y] / 3.0 + first[X, Y + 1]
    return pipeline(last)


def test_float_arithmetic_is_as_written_unless_asked_otherwise() -> None:
    chain = float_chain()
    strict = ir_of(chain, schedule(chain))
    assert re.search(r"fadd float", strict)
    assert not re.search(r"(fast|contract|reassoc|nnan) ?float", strict)
    assert re.search(r"fadd contract float", ir_of(chain, schedule(chain), FloatMode.CONTRACT))
    assert re.search(r"fadd fast float", ir_of(chain, schedule(chain), FloatMode.FAST))


@pytest.mark.parametrize(("taps", "is_written_out"), [(5, True), (50, False)])
def test_short_reductions_are_written_out(taps: int, is_written_out: bool) -> None:
    image, out = ImageParam(Float32, 1, "input"), Func("out")
    r = RDom([(0, taps)], "r")
    out[X] = constant(0.0, Float32)
    out[X] += image[X + r.x] * (cast(Float32, r.x) + 2.0)
    algorithm = pipeline(out)
    directives = schedule(algorithm).update(0).reorder("r.x", "x").vectorize("x", 8, "round_up")
    code = compile_cpu_unchecked(algorithm, directives.schedule)
    products = re.findall(r"fmul <8 x float>", code.llvm_ir())
    assert len(products) == (taps if is_written_out else 1)
    array = np.arange(100, dtype=np.float32) % 7
    found = code.run({"input": array}, sizes={"out": [32]})["out"]
    exact = [sum((t + 2) * array[x + t] for t in range(taps)) for x in range(32)]
    assert found.tolist() == exact  # small whole numbers are exact in any order


def test_small_constant_scratch_lies_on_the_stack() -> None:
    chain = float_chain()
    tiled = schedule(chain).tile("x", "y", "xi", "yi", 16, 8).func("first")
    assert "call ptr" not in ir_of(chain, tiled.compute_at("last", "x"))
    assert '@"spaces_malloc"(i64' in ir_of(chain, tiled.compute_at("last", "y"))
    heap = tiled.compute_at("last", "x").store_in("heap")
    assert re.search(r"call ptr @\"spaces_malloc\"", ir_of(chain, heap))


def test_accesses_say_which_buffer_they_touch() -> None:
    chain = float_chain()
    text = ir_of(chain, schedule(chain).vectorize("x", 8).func("first").compute_root())
    accesses = [
        line for line in text.splitlines() if re.search(r"(load|store) (float|<8 x float>)", line)
    ]
    assert accesses
    assert all("!alias.scope" in line and "!noalias" in line for line in accesses)


def test_vectors_are_where_the_schedule_says_and_nowhere_else() -> None:
    chain = float_chain()
    plain = compile_cpu_unchecked(chain, schedule(chain).schedule).llvm_ir()
    assert "vector.body" not in plain
    assert len(re.findall("store float", plain)) == 1  # in one loop, not unrolled
    vectors = compile_cpu_unchecked(chain, schedule(chain).vectorize("x", 8).schedule).llvm_ir()
    assert "<8 x float>" in vectors


def test_deep_expressions_compile() -> None:
    image, out = ImageParam(UInt16, 1, "input"), Func("out")
    value: Expr = image[X]
    for _ in range(3000):
        value = value * 3 + 1
    out[X] = value
    algorithm = pipeline(out)
    compiled = compile_cpu_unchecked(algorithm, schedule(algorithm).schedule)
    found = compiled.run({"input": np.arange(5, dtype=np.uint16)}, sizes={"out": [5]})["out"]
    wanted = [
        int(pow(3, 3000, 1 << 17) * v + (pow(3, 3000, 1 << 17) - 1) // 2) % 65536 for v in range(5)
    ]
    assert list(found) == wanted


def test_halved_coordinates_load_two_dense_halves() -> None:
    image, out = ImageParam(Float32, 1, "input"), Func("out")
    out[X] = image[X / 2 + 3]
    algorithm = pipeline(out)
    text = ir_of(algorithm, schedule(algorithm).vectorize("x", 8, "round_up"))
    assert len(re.findall("load <4 x float>", text)) == 2
    assert "load float" not in text


def test_quotients_of_even_steps_stay_even() -> None:
    out = Func("out")
    out[X] = (X * 4 + 1) / 2 * 5 + (X * 6 + 5) % 3 + (X * 3) / 2
    algorithm = pipeline(out)
    check(algorithm, schedule(algorithm).vectorize("x", 8).schedule, {"out": [(-9, 24)]})
