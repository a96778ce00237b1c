"""Constant values are evaluated, and mean what the reference says."""

from hypothesis import given
from hypothesis import strategies as st

from backend.lowering.constants import evaluated
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Cast, Const, Op, Variable, constant
from spaces.model.expressions.types import Float32, Int8, Int32, UInt8


def test_what_inlining_leaves_of_a_kernel_becomes_one_number():
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


def test_variables_and_what_is_no_number_stay():
    x = Variable(Float32, "x")
    assert evaluated(x + 1.0) is x + 1.0
    root = fn.sqrt(constant(-1.0, Float32))
    assert evaluated(root) is root
    quotient = constant(1.0, Float32) / constant(0.0, Float32)
    assert evaluated(quotient) is quotient
