"""Expressions as CUDA C: literals, and random expressions of every type against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.cuda.c_text import CExpression, binary, choice, conversion, literal, negation
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.expressions import ExpressionPrinter, Root
from spaces.backend.cuda.number_ends import NumberEnds
from spaces.backend.cuda.program import CudaExecutor
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Expr, Op, Variable, cast, constant
from spaces.model.expressions.integer_functions import reinterpret
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.operators import ARITHMETIC, COMPARISONS
from spaces.model.expressions.signatures import BITS
from spaces.model.expressions.types import (
    SCALAR_TYPES,
    Bool,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    Type,
    UInt32,
    UInt64,
)

X = Var("x")
TYPES = tuple(SCALAR_TYPES.values())
IMAGES = {type: ImageParam(type, 1, f"in_{type}") for type in TYPES}
LENGTH = 37
BOOLEAN = ("and", "or", "add", "sub", "mul", "div", "mod", "min", "max")
SPECIAL = (0.0, -0.0, 1.5, -2.25, 0.1, 3e38, 1e-40, float("inf"), float("-inf"), float("nan"))


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [
        (3, Int32, "3"),
        (-3, Int8, "-3"),
        (-(1 << 31), Int32, "-2147483647 - 1"),
        (-(1 << 63), Int64, "-9223372036854775807ll - 1"),
        (1 << 31, UInt32, "2147483648u"),
        ((1 << 64) - 1, UInt64, "18446744073709551615ull"),
        (1, Bool, "true"),
        (0.1, Float32, "0.1f"),
        (1.0, Float32, "1.0f"),
        (-2.5, Float64, "-2.5"),
        (float("inf"), Float32, "__uint_as_float(0x7f800000u)"),
        (float("-inf"), Float64, "__longlong_as_double(-4503599627370496ll)"),
    ],
)
def test_literals(value: float, type: Type, text: str) -> None:
    assert str(literal(value, type)) == text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_literals_of_floats_mean_the_same_bits(value: float) -> None:
    text = str(literal(value, Float32))
    assert text.endswith("f")
    assert np.float32(text[:-1]).tobytes() == np.float32(value).tobytes()


@st.composite
def expressions(draw: st.DrawFn, type: Type, depth: int) -> Expr:
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        return draw(leaves(type))
    kind = draw(st.integers(0, 9))
    if type.is_bool:
        of = draw(st.sampled_from(TYPES)) if kind < 6 else Bool
        names = COMPARISONS if kind < 6 else BOOLEAN
        return draw(applied(type, draw(st.sampled_from(names)), of, depth))
    if kind < 6:
        return draw(applied(type, draw(st.sampled_from(ARITHMETIC)), type, depth))
    if kind == 6:
        arms = (draw(expressions(type, depth - 1)), draw(expressions(type, depth - 1)))
        return Op(type, "select", (draw(expressions(Bool, depth - 1)), *arms))
    if kind == 7 and type.is_float:
        name = draw(st.sampled_from(["abs", "floor", "ceil", "sqrt", "round", "trunc"]))
        return Op(type, name, (draw(expressions(type, depth - 1)),))
    if kind in (7, 8) and not type.is_float and draw(st.booleans()):
        return draw(bits(type, depth))
    if kind == 8:
        of = Type("uint" if type.is_float else draw(st.sampled_from(["int", "uint"])), type.bits)
        if type.bits >= 32 and not type.is_float and draw(st.booleans()):
            # The bits of a computed NaN are undefined.
            return reinterpret(type, IMAGES[Type("float", type.bits)][X])
        return reinterpret(type, draw(expressions(of, depth - 1)))
    if kind == 7 and type.is_uint:
        return Op(type, "abs", (draw(expressions(Type("int", type.bits), depth - 1)),))
    return cast(type, draw(expressions(draw(st.sampled_from(TYPES)), depth - 1)))


@st.composite
def bits(draw: st.DrawFn, type: Type, depth: int) -> Expr:
    name = draw(st.sampled_from(BITS[:-1]))
    operand = draw(expressions(type, depth - 1))
    if name.startswith("shift"):
        amount = Type(draw(st.sampled_from(["int", "uint"])), type.bits)
        if draw(st.booleans()):
            return Op(type, name, (operand, draw(expressions(amount, depth - 1))))
        by = draw(st.sampled_from([0, 1, 3, type.bits - 1, type.bits, -2, amount.max_value]))
        return Op(type, name, (operand, constant(by, amount)))
    if name.startswith("bit"):
        return Op(type, name, (operand, draw(expressions(type, depth - 1))))
    return Op(type, name, (operand,))


@st.composite
def applied(draw: st.DrawFn, type: Type, name: str, of: Type, depth: int) -> Expr:
    return Op(type, name, (draw(expressions(of, depth - 1)), draw(expressions(of, depth - 1))))


@st.composite
def leaves(draw: st.DrawFn, type: Type) -> Expr:
    kind = draw(st.integers(0, 3))
    if kind == 1 and type == Int32:
        return X
    if kind > 0:
        return IMAGES[type][X + draw(st.integers(0, 2))]
    if type.is_float:
        return constant(draw(st.sampled_from(SPECIAL)), type)
    return constant(
        draw(st.sampled_from([0, 1, -1, 2, 3, 7, -5, type.min_value, type.max_value])), type
    )


def values(type: Type) -> NDArray[np.generic]:
    """Elements of a type, including the awkward ones."""
    generator = np.random.default_rng(type.bits)
    count = LENGTH + 2
    if type.is_float:
        scales = 10.0 ** generator.integers(-3, 14, count)
        found = (generator.standard_normal(count) * scales).astype(type.dtype)
        found[: len(SPECIAL)] = np.array(SPECIAL).astype(type.dtype)
        return found
    if type.is_bool:
        return generator.integers(0, 2, count).astype(np.bool_)
    low, high = type.min_value, type.max_value
    found = generator.integers(low, high, count, type.dtype, endpoint=True)
    found[:6] = [0, 1, high, low, 2, 3]
    found[20:] = generator.integers(0, 20, count - 20)
    return found


@settings(max_examples=4)
@given(st.data())
def test_random_expressions_have_the_bits_of_the_reference(data: st.DataObject) -> None:
    check_expressions(data, 25, Emulator())


@settings(max_examples=2)
@given(st.data())
def test_random_expressions_are_defined(data: st.DataObject) -> None:
    check_expressions(data, 10, SanitizedEmulator("address,undefined"))


def check_expressions(data: st.DataObject, count: int, executor: CudaExecutor) -> None:
    """Draws many expressions for each text, because the compiler takes most of the time."""
    funcs = []
    for number in range(count):
        type = data.draw(st.sampled_from(TYPES))
        func = Func(f"f{number}")
        func[X] = data.draw(expressions(type, data.draw(st.integers(1, 4))))
        funcs.append(func)
    algorithm = pipeline(funcs)
    directives = schedule(algorithm)
    for func in funcs:
        directives = directives.func(func).gpu_tile("x", "xi", LENGTH)
    inputs = {i.name: values(i.type) for i in algorithm.images}
    sizes = {func.name: (LENGTH,) for func in funcs}
    compiled = compile_gpu_unchecked(algorithm, directives.schedule)
    outputs = compiled.run(inputs, sizes=sizes, executor=executor)
    for name, expected in evaluate(algorithm, inputs, sizes=sizes).items():
        np.testing.assert_array_equal(
            outputs[name], expected, err_msg=str(algorithm.function(name).stages[0].values[0])
        )


def test_math_functions_are_close_to_the_reference() -> None:
    of = {Float32: ImageParam(Float32, 1, "a"), Float64: ImageParam(Float64, 1, "b")}
    funcs = []
    for type, source in of.items():
        for name in FLOAT_FUNCTIONS:
            if name in ("pow", "atan2"):
                continue
            func = Func(f"{name}_{type}")
            func[X] = Op(type, name, (source[X],))
            funcs.append(func)
        power = Func(f"pow_{type}")
        power[X] = Op(type, "pow", (source[X], source[X + 1]))
        funcs.append(power)
    algorithm = pipeline(funcs)
    directives = schedule(algorithm)
    for func in funcs:
        directives = directives.func(func).gpu_tile("x", "xi", 16)
    generator = np.random.default_rng(5)
    inputs = {"a": generator.random(17, np.float32) * 3 + 0.1, "b": generator.random(17) * 3 + 0.1}
    inputs["a"] = inputs["a"].astype(np.float32)
    sizes = {func.name: (16,) for func in funcs}
    outputs = compile_gpu_unchecked(algorithm, directives.schedule).run(inputs, sizes=sizes)
    for name, expected in evaluate(algorithm, inputs, sizes=sizes).items():
        steps = 8 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(outputs[name], expected, rtol=steps, atol=steps)


def test_values_made_of_coordinates_wrap_but_coordinates_do_not() -> None:
    func, moved, total = Func("f"), Func("g"), Func("total")
    r = RDom([(0, 60)], "r")
    func[X] = (X * X * X * X) % 7
    moved[X] = func[(X * X) % 5] / (X + 1)
    total[X] = 0
    total[X] += (r.x * r.x * r.x * 20_000) % 7
    algorithm = pipeline([func, moved, total])
    directives = schedule(algorithm)
    for one in (func, moved, total):
        directives = directives.func(one).gpu_tile("x", "xi", 100)
    directives = directives.update().gpu_tile("x", "xi", 100)
    sizes = {"f": (1000,), "g": (1000,), "total": (100,)}
    expected = evaluate(algorithm, {}, sizes=sizes)
    assert 600**4 > 1 << 32
    assert 59**3 * 20_000 > 1 << 31
    outputs = compile_gpu_unchecked(algorithm, directives.schedule).run({}, sizes=sizes)
    for name, values in expected.items():
        np.testing.assert_array_equal(outputs[name], values)


def test_parentheses_stand_where_they_are_needed() -> None:
    a, b, c = (CExpression(name) for name in "abc")
    total = binary("+", a, b)
    assert str(binary("-", total, c)) == "a + b - c"
    assert str(binary("-", c, total)) == "c - (a + b)"
    assert str(binary("*", total, conversion("int", total))) == "(a + b) * (int)(a + b)"
    assert str(binary("+", choice(binary("<", a, b), a, b), c)) == "(a < b ? a : b) + c"
    assert str(negation(binary("&&", a, b))) == "!(a && b)"
    assert str(binary("-", a, literal(-3, Int32))) == "a - -3"


@pytest.mark.parametrize(("name", "symbol"), [("div", "/"), ("mod", "%")])
def test_numbers_that_are_never_negative_are_divided_without_signs(name: str, symbol: str) -> None:
    """Where a kernel does not know the ends of both, the helper rounds down, as Halide does."""
    count, offset, divisor = (Variable(Int32, n) for n in ("count", "offset", "divisor"))
    ends = NumberEnds({"count": (0, 99), "offset": (-1, 99), "divisor": (0, 9)})

    def printed(a: Expr, b: Expr) -> tuple[str, set[str]]:
        printer = ExpressionPrinter(str, ends, str, str, set())
        (text,) = printer.print([Root(Op(Int32, name, (a, b)), is_index=True)]).texts
        return str(text), printer.helpers

    eight = constant(8, Int32)
    assert printed(count, eight) == (f"(int)((unsigned int)count {symbol} 8u)", set())
    assert printed(count, divisor)[1] == {f"unsigned_{name}"}
    assert printed(offset, eight)[1] == {f"euclid_{name}"}
    assert printed(count, offset)[1] == {f"euclid_{name}"}


def test_repeated_expressions_are_computed_once() -> None:
    source = IMAGES[Int32]
    func = Func("f")
    value: Expr = source[X]
    for _ in range(40):  # as a tree, this would be 2 ** 40 operands
        value = value * value + value
    func[X] = value
    algorithm = pipeline(func)
    compiled = compile_gpu_unchecked(
        algorithm, schedule(algorithm).gpu_tile("x", "xi", 16).schedule
    )
    assert len(compiled.source) < 20_000
    inputs = {"in_int32": values(Int32)}
    outputs = compiled.run(inputs, sizes={"f": (16,)})
    expected = evaluate(algorithm, inputs, sizes={"f": (16,)})
    np.testing.assert_array_equal(outputs["f"], expected["f"])
