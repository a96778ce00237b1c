"""Identities agree with the reference."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.arithmetic import value_of
from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.ir.identities import CONDITIONS, COORDINATES, coordinate, evaluated, folded
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Cast, Const, Op, Variable, constant
from spaces.model.expressions.types import Bool, Float32, Int8, Int32, UInt8
from spaces.model.writing.text import parse_schedule


def test_an_inlined_kernel_becomes_one_number():
    product = evaluated(Op(Int32, "mul", (constant(-2, Int32), constant(2, Int32))))
    quotient = evaluated(evaluated(Cast(Float32, product)) / 4.5)
    weight = evaluated(fn.exp(quotient))
    assert isinstance(weight, Const)
    assert abs(weight.value - 0.41111229050718745) < 3e-8


@given(st.integers(-128, 127), st.integers(-128, 127))
def test_narrow_integers_wrap_and_divide_as_halide_does(a, b):
    def number(name):
        return evaluated(Op(Int8, name, (constant(a, Int8), constant(b, Int8)))).value

    assert number("add") == (a + b + 128) % 256 - 128
    assert number("mul") == (a * b + 128) % 256 - 128
    if b != 0:
        assert number("mod") == a % abs(b)
    else:
        assert number("div") == number("mod") == 0


def test_conversions_wrap_and_truncate():
    assert evaluated(Cast(UInt8, constant(-1, Int32))) is constant(255, UInt8)
    assert evaluated(Cast(Int32, constant(-1.75, Float32))) is constant(-1, Int32)


def test_variables_and_nan_stay():
    x = Variable(Float32, "x")
    assert evaluated(x + 1.0) is x + 1.0
    root = fn.sqrt(constant(-1.0, Float32))
    assert evaluated(root) is root
    quotient = constant(1.0, Float32) / constant(0.0, Float32)
    assert evaluated(quotient) is quotient


def operation(identity, type):
    """The left side of an identity, and its letters."""
    kinds = [Bool if identity.operator == "select" and n == 0 else type for n in range(3)]
    operands = [
        Variable(kind, one) if isinstance(one, str) else constant(one, kind)
        for one, kind in zip(identity.operands, kinds, strict=False)
    ]
    letters = sorted({one for one in identity.operands if isinstance(one, str)})
    return Op(type, identity.operator, tuple(operands)), letters


@pytest.mark.parametrize("identity", CONDITIONS, ids=str)
def test_identities_of_conditions_keep_the_value(identity):
    type = Int32 if identity.operator == "select" else Bool
    node, letters = operation(identity, type)
    result = folded(node)
    assert result is not node
    for values in itertools.product((0, 1), repeat=len(letters)):
        given = dict(zip(letters, values, strict=True))
        assert value_of(node, given) == value_of(result, given)


@pytest.mark.parametrize("identity", COORDINATES, ids=str)
def test_identities_of_coordinates_keep_the_value(identity):
    node, letters = operation(identity, Int32)
    result = coordinate(node.name, *node.args)
    assert result is not node
    for values in itertools.product((-(2**31), -3, 0, 1, 7, 2**31 - 1), repeat=len(letters)):
        given = dict(zip(letters, values, strict=True))
        assert value_of(node, given) == value_of(result, given)


def test_floats_are_added_as_written():
    x = Variable(Float32, "x")
    assert folded(x + 0.0) is x + 0.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda x: fn.max(x % 2 * 3 - 1, 0), [0, 2] * 8),
        (lambda x: fn.min(x % 2 * 3 - 1, 0), [-1, 0] * 8),
        (lambda x: x % 2 & 0, [0, 0] * 8),
    ],
)
def test_lanes_that_take_turns_are_clamped(value, expected):
    x, out = Var("x"), Func("out")
    out[x] = value(x)
    program = pipeline(out)
    compiled = compile_cpu_unchecked(program, parse_schedule("out.vectorize(x, 8)", program))
    assert np.array_equal(compiled.run({}, sizes={"out": (16,)})["out"], expected)
