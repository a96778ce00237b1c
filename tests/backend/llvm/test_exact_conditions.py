"""Conditions on sizes and Params, in machine code as in mathematics, whatever the size of their
numbers.
"""

from __future__ import annotations

import ctypes
import re
import struct
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import ir

from spaces import (
    DefinitionError,
    Expr,
    Float32,
    Func,
    ImageParam,
    Int8,
    Int32,
    Int64,
    Param,
    Pipeline,
    UInt32,
    UInt64,
    Var,
    abs,
    cast,
    device,
    loop_nest,
    max,
    min,
    parse_schedule,
    pipeline,
    popcount,
    schedule,
    select,
    verify,
)
from spaces.backend.arguments import ArgumentError, holds
from spaces.backend.buffers import argument_words
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.ir.program import LoopProgram
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.llvm.exact import ExactConditions
from spaces.backend.llvm.operators import Operators
from spaces.backend.llvm.runtime.blocks import I8, POINTER
from spaces.backend.llvm.words import Words
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.machine_code import compile_module
from spaces.model.expressions.expr import Const, Variable, logical, walk
from spaces.model.expressions.types import Bool, Type
from spaces.model.formulas import algebra
from spaces.model.formulas.widths import MOST_BITS, is_too_wide, width
from tests.draw_counts import examples

X = Var("x")
TYPES = {"q": Int32, "n": Int32, "b": Int8, "u": UInt32, "w": Int64, "v": UInt64, "t": Bool}
VARIABLES = {name: Variable(type, name) for name, type in TYPES.items()}


def emitted(*conditions: Expr) -> ir.Module:
    """A module with a function from words of arguments to whether all conditions hold."""
    module = ir.Module("exact")
    function = ir.Function(module, ir.FunctionType(I8, [POINTER]), "test")
    build = ir.IRBuilder(function.append_basic_block())
    words = Words(build, function.args[0])
    variables = {name: words.scalar(type) for name, type in TYPES.items()}
    emitter = ExactConditions(Operators(module, build), variables)
    bit = reduce(build.and_, [emitter.emit(condition) for condition in conditions])
    build.ret(build.zext(bit, I8))
    return module


def body(*conditions: Expr) -> str:
    """The function that decides the conditions, without the functions that it calls."""
    return str(emitted(*conditions).globals["test"])


def machine_code(*conditions: Expr) -> tuple[object, ctypes._CFunctionType]:
    """A function from words of arguments to whether all conditions hold."""
    code = compile_module(str(emitted(*conditions)))
    return code, ctypes.CFUNCTYPE(ctypes.c_uint8, ctypes.c_void_p)(code.address("test"))


def called(function: ctypes._CFunctionType, values: dict[str, int]) -> bool:
    packed = b"".join(
        struct.pack("=q" if type.is_int else "=Q", values[name]) for name, type in TYPES.items()
    )
    held = ctypes.create_string_buffer(packed, len(packed))
    return bool(function(ctypes.addressof(held)))


OPERATORS = (
    *("mul", "mul", "add", "sub", "div", "mod", "min", "max", "abs"),
    *("select", "cast", "and", "shift", "const", "popcount"),
)


def numbers(type: Type) -> st.SearchStrategy[int]:
    ends = [type.min_value, type.max_value, type.max_value // 2 + 1, 0, 1]
    return st.sampled_from(ends) | st.integers(type.min_value, type.max_value)


@st.composite
def integers(draw: st.DrawFn, type: Type, depth: int) -> Expr:
    """A number of a type."""
    if depth == 0:
        leaves = [v for v in VARIABLES.values() if v.type == type]
        return draw(st.sampled_from(leaves))
    a = draw(integers(type, depth - 1))
    name = draw(st.sampled_from(OPERATORS))
    b = draw(integers(type, draw(st.integers(0, depth - 1))))
    match name:
        case "mul":
            return a * b
        case "add":
            return a + b
        case "sub":
            return a - b
        case "div":
            return a / b
        case "mod":
            return a % b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "abs":
            return cast(type, abs(a))
        case "and":
            return a & b
        case "shift":
            return a >> draw(st.integers(0, 9))
        case "select":
            return select(a > b, a, b)
        case "popcount":
            return cast(type, popcount(a))
        case "cast":
            other = draw(st.sampled_from([Int8, Int32, UInt32, Int64, UInt64]))
            return cast(type, draw(integers(other, depth - 1)))
    return a * draw(st.integers(1, 100))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> Expr:
    form = draw(st.sampled_from(["compare", "compare", "compare", "and", "not", "param"]))
    if form == "param":
        return VARIABLES["t"]
    if form in ("and", "not") and depth:
        parts = [draw(conditions(depth - 1)) for _ in range(2)]
        return logical("and", *parts) if form == "and" else logical("not", parts[0])
    type = draw(st.sampled_from([Int32, Int32, Int32, UInt32, Int64, UInt64]))
    a, b = (draw(integers(type, draw(st.integers(1, 4)))) for _ in range(2))
    match draw(st.sampled_from(["lt", "le", "eq", "ne"])):
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "eq":
            return a == b
    return a != b


@settings(max_examples=examples(30))
@given(conditions(), st.data())
def test_machine_code_reads_conditions_as_python_does(condition: Expr, data: st.DataObject) -> None:
    _kept, function = machine_code(condition)
    for _ in range(12):
        values = {name: data.draw(numbers(type)) for name, type in TYPES.items()}
        assert called(function, values) == bool(algebra.evaluate(condition, values)), values


@settings(max_examples=examples(30))
@given(st.lists(conditions(), min_size=2, max_size=4), st.data())
def test_conditions_that_share_numbers_keep_their_meaning(
    several: list[Expr], data: st.DataObject
) -> None:
    """Parts of the conditions occur again in others, under longer numbers."""
    q, n = VARIABLES["q"], VARIABLES["n"]
    parts = [node for node in walk(*several) if node.type == Int32 and not isinstance(node, Const)]
    mixed = [a * q * n > b * n for a, b in pairwise(parts[-4:])]
    asked = (*several, *mixed)
    _kept, function = machine_code(*asked)
    for _ in range(6):
        values = {name: data.draw(numbers(type)) for name, type in TYPES.items()}
        expected = all(algebra.evaluate(condition, values) for condition in asked)
        assert called(function, values) == expected, values


@settings(max_examples=examples(80))
@given(integers(Int32, 4), st.data())
def test_no_number_of_a_formula_is_wider_than_said(formula: Expr, data: st.DataObject) -> None:
    values = {name: data.draw(numbers(type)) for name, type in TYPES.items()}
    found: dict[Expr, int] = {}
    algebra.read_all((formula,), values, algebra.INTEGERS, found)
    most = 1 << width(formula)
    assert all(-most < number < most for number in found.values())


def test_small_conditions_keep_words() -> None:
    q, n = VARIABLES["q"], VARIABLES["n"]
    assert width(q * n + q > 16) < 64
    assert width(q * n * q > 16) > 64
    assert width(Variable(Int32, "f.stride.0") * q > 0) > 64


def power(q: Expr, times: int) -> Expr:
    product = q
    for _ in range(times - 1):
        product = product * q
    return product


def lengths(text: str, operators: str) -> list[int]:
    """The bits of each integer that some operators of LLVM compute."""
    return [int(bits) for bits in re.findall(rf"= (?:{operators}) (?:nsw )?i(\d+)", text)]


def test_each_number_has_only_the_bits_that_it_needs() -> None:
    """A long number makes no other number long."""
    q, n = VARIABLES["q"], VARIABLES["n"]
    short, long = q * n, power(q, 20)
    assert lengths(body(short + long > 0), "mul").count(64) == 2  # q * n and q * q
    assert lengths(body(long % 5 + short + n > q), "icmp sgt") == [64]


def test_conditions_share_their_numbers() -> None:
    q, n = VARIABLES["q"], VARIABLES["n"]
    product = power(q, 9) / n
    once = body(product > 5)
    twice = body(product > 5, product * n < 100, product + q > n)
    assert once.count("call") == 6  # five products of more than 128 bits, and the quotient
    assert twice.count("call") == once.count("call") + 1


@pytest.mark.parametrize("times", [5, 10, 20, 33])
def test_long_products_and_quotients_are_calls(times: int) -> None:
    """LLVM makes hundreds of instructions of each, in a time that grows faster than their number:
    of schedules with fused loops it once needed minutes for the conditions on sizes alone.
    """
    q, n = VARIABLES["q"], VARIABLES["n"]
    quotient = power(q, times) / power(n, 3) + power(q, times) % power(n, 4)
    found = body(quotient > 5, quotient * 8 < q)
    long = [bits for bits in lengths(found, "mul|sdiv|udiv|srem|urem") if bits > 128]
    assert len(long) == 1  # by 8
    assert len(found.splitlines()) < 20 * times
    functions = str(emitted(quotient > 5)).count("define internal")
    assert functions <= 6  # products of 256, 512, 1024 and 2048 bits, a quotient, a remainder


def stencils_in_fused_loops(length: int) -> LoopProgram:
    """A chain of stencils; each runs in one parallel loop over the tasks of three fused loops, so
    the sizes of each depend on quotients of the sizes of the next one.
    """
    y, z = Var("y"), Var("z")
    last: Func | ImageParam = ImageParam(Int32, 3, "image")
    text = ""
    for number in range(length):
        step = Func(f"step_{number}")
        step[X, y, z] = last[X - 1, y, z] + last[X, y + 1, z] + last[X, y, z - 1]
        text += (
            f"step_{number}.compute_root().split(x, v, xi, 4, ShiftInwards).fuse(v, y, v)"
            ".fuse(v, z, v).parallel(v, 1000, ShiftInwards).vectorize(xi);"
        )
        last = step
    assert isinstance(last, Func)
    algorithm = pipeline(last)
    return list(lower(loop_nest(algorithm, parse_schedule(text, algorithm))).values())[-1]


def calls_of_long_numbers(program: LoopProgram) -> int:
    return len(re.findall(r'call i\d+ @"spaces\.(?:mul|div|mod)', llvm_module(program)))


def test_size_checks_share_their_numbers() -> None:
    program = stencils_in_fused_loops(4)
    alone = [evolve(program, size_checks=(check,)) for check in program.size_checks]
    assert 0 < calls_of_long_numbers(program) < sum(map(calls_of_long_numbers, alone))


def required(times: int = 4) -> Pipeline:
    q, f = Param(Int32, "q"), Func("f")
    f[X] = X + q
    return pipeline(f, requirements=[(power(q, times) > 0, "q must not be 0.")])


def status(compiled: CompiledPipeline, q: int) -> int:
    """What machine code alone says, as C programs call it."""
    run = compiled.prepare({}, {"q": 1}, {"f": [4]})
    arguments, outputs = run._arguments, run._outputs
    words = argument_words(compiled.pipeline, arguments, outputs.written)
    words[len(words) - 1] = q
    return compiled.call(words)


@pytest.mark.parametrize("times", [4, 8, 30])
def test_requirements_of_long_products(times: int) -> None:
    algorithm = required(times)
    compiled = compile_cpu(verify(algorithm, schedule(algorithm).schedule, device("cpu")))
    for q in (65536, 46341, 1, -(2**31), 2**31 - 1):
        expected = evaluate(algorithm, {}, {"q": q}, {"f": [4]})
        found = compiled.run({}, {"q": q}, {"f": [4]})
        np.testing.assert_array_equal(found["f"], expected["f"])
        assert status(compiled, q) == 0
    assert status(compiled, 0) == 1
    with pytest.raises(ArgumentError, match="q must not be 0"):
        compiled.run({}, {"q": 0}, {"f": [4]})


CASES = {
    "cpu": ("vectorize(x, 4)", compile_cpu),
    "sm_80": ("gpu_tile(x, xi, 4, GuardWithIf)", compile_gpu),
}


@pytest.mark.parametrize("target", CASES)
def test_specializations_on_long_products(target: str) -> None:
    q, r, f = Param(Int32, "q"), Param(Float32, "r"), Func("f")
    f[X] = X + q + cast(Int32, r)
    algorithm = pipeline(f)
    loops, compiler = CASES[target]
    text = (
        f"f.specialize(q*q*q*q > 0 && r > 0.5).{loops};"
        f"f.specialize(q*q > 2000000000).{loops};"
        'f.specialize_fail("q is small");'
    )
    checked = verify(algorithm, parse_schedule(text, algorithm), device(target))
    compiled = compiler(checked)
    for q_value, r_value in ((65536, 1.0), (65536, 0.0), (-(2**31), 1.0), (1, 1.0), (2**31 - 1, 0)):
        params = {"q": q_value, "r": r_value}
        found = compiled.run({}, params, {"f": [7]})["f"]
        np.testing.assert_array_equal(found, evaluate(algorithm, {}, params, {"f": [7]})["f"])
    for params in ({"q": 0, "r": 1.0}, {"q": 3, "r": 0.0}):
        with pytest.raises(SizeError, match=r"q is small"):
            compiled.run({}, params, {"f": [7]})


def test_the_first_case_that_holds_runs() -> None:
    """On a GPU, Python chooses the case."""
    q, f = Param(Int32, "q"), Func("f")
    f[X] = X + q
    algorithm = pipeline(f)
    text = f"f.specialize(q*q > 0).{CASES['sm_80'][0]};"
    compiled = compile_gpu(verify(algorithm, parse_schedule(text, algorithm), device("sm_80")))
    first, last = compiled.programs
    for q_value in (65536, 46341, -65536, 1):
        assert compiled.at({"q": q_value}) is first
    assert compiled.at({"q": 0}) is last


def test_floats_keep_the_arithmetic_of_values() -> None:
    q = VARIABLES["q"]
    assert holds(q * q > 0, {"q": 65536})
    assert not holds(cast(Float32, q * q) > 0.5, {"q": 65536})


def test_longer_numbers_are_refused_where_they_are_written() -> None:
    q, f = Param(Int32, "q"), Func("f")
    f[X] = X + q
    assert not is_too_wide(power(VARIABLES["q"], MOST_BITS // 31) > 0)
    square: Expr = q * 1
    for _ in range(30):
        square = square * square
    with pytest.raises(DefinitionError, match=r"on q \(Too much.\) multiplies to .* 1024 bits"):
        pipeline(f, requirements=[(square > 0, "Too much.")])
    algorithm = pipeline(f)
    text = f"f.specialize({' * '.join(['q'] * 40)} > 0).vectorize(x, 4);"
    with pytest.raises(ValueError, match="numbers of more than 1024 bits"):
        parse_schedule(text, algorithm)
