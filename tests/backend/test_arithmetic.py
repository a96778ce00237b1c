"""Operators on arrays against their definitions over Python's unbounded integers."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spaces import Bool, Float32, Int8, Int32, Int64, Type, UInt8, UInt64
from spaces.backend.arithmetic import OPERATORS, convert
from spaces.model.expressions import functions as fn
from spaces.model.expressions.signatures import OPERATORS as NAMES
from spaces.model.expressions.types import SCALAR_TYPES

INTEGERS = [t for t in SCALAR_TYPES.values() if not t.is_float]


def divided(a: int, b: int) -> int:
    """The quotient with a remainder in [0, |b|)."""
    return 0 if b == 0 else (a - remainder(a, b)) // b


def remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a % abs(b)


WRAPPING: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": divided,
    "mod": remainder,
    "min": min,
    "max": max,
}
COMPARING: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


@st.composite
def operands(draw: st.DrawFn) -> tuple[Type, int, int]:
    element = draw(st.sampled_from(INTEGERS))
    low, high = element.min_value, element.max_value
    value = st.one_of(
        st.integers(low, high), st.sampled_from([low, high, 0, 1, max(low, -1), max(low, -3), 1])
    )
    return element, draw(value), draw(value)


def array(element: Type, *values: float) -> np.ndarray:
    return np.array(values, element.dtype)


def test_every_operator_has_a_function() -> None:
    assert set(OPERATORS) | {"reinterpret"} == set(NAMES)


@given(operands())
@example((Int8, -128, -1))
@example((Int64, -(1 << 63), -1))
@example((Int32, 5, -3))
def test_integers_wrap_and_divide_as_defined(case: tuple[Type, int, int]) -> None:
    element, a, b = case
    with np.errstate(all="ignore"):
        for name, meaning in WRAPPING.items():
            # Arrays and scalars, because NumPy computes arrays and scalars by different code.
            both = OPERATORS[name](array(element, a, a, a), array(element, b, b, b))
            one = OPERATORS[name](np.asarray(a, element.dtype), np.asarray(b, element.dtype))
            expected = element.wrap(meaning(a, b))
            assert [int(v) for v in both] == [expected] * 3, name
            assert int(one) == expected, name
            assert both.dtype == one.dtype == element.dtype, name
        for name, holds in COMPARING.items():
            result = OPERATORS[name](array(element, a), array(element, b))
            assert (result.dtype, bool(result[0])) == (np.dtype(bool), holds(a, b)), name


@given(operands())
@example((Int8, -128, 0))
def test_magnitude_is_unsigned(case: tuple[Type, int, int]) -> None:
    element, a, _ = case
    if element.is_int:
        result = OPERATORS["abs"](array(element, a))
        assert (result.dtype.kind, result.dtype.itemsize) == ("u", element.bytes)
        assert int(result[0]) == abs(a)


@given(operands(), st.sampled_from(INTEGERS))
@example((Int32, 2, 0), Bool)
@example((Int32, -1, 0), UInt64)
def test_casts_between_integers_wrap(case: tuple[Type, int, int], target: Type) -> None:
    element, a, _ = case
    result = convert(target, array(element, a))
    assert (result.dtype, int(result[0])) == (target.dtype, target.wrap(a))


@given(
    st.floats(width=32),
    st.sampled_from(INTEGERS),
    st.sampled_from([np.float32, np.float64]),
)
@example(2.0**31, Int32, np.float32)
@example(-(2.0**63), Int64, np.float32)
@example(2.0**64, UInt64, np.float64)
@example(255.75, UInt8, np.float32)
@example(-0.75, UInt8, np.float32)
@example(0.75, Bool, np.float32)
def test_floats_truncate_and_stop_at_the_limits(value: float, target: Type, kind: type) -> None:
    with np.errstate(all="ignore"):
        result = convert(target, np.array([value], kind))
    if math.isnan(value):
        expected = 0
    elif math.isinf(value):
        expected = target.max_value if value > 0 else target.min_value
    else:
        expected = min(max(math.trunc(value), target.min_value), target.max_value)
    assert (result.dtype, int(result[0])) == (target.dtype, expected)


@pytest.mark.parametrize("number", [16777217, (1 << 53) + 1, -(1 << 63)])
def test_integers_round_once_to_the_nearest_float(number: int) -> None:
    assert float(convert(Float32, array(Int64, number))[0]) == float(np.float32(number))


def test_minimum_and_maximum_take_the_second_operand_in_doubt() -> None:
    nan = float("nan")
    low, high = OPERATORS["min"], OPERATORS["max"]
    for pick in (low, high):
        assert float(pick(array(Float32, nan), array(Float32, 1.0))[0]) == 1.0
        assert math.isnan(float(pick(array(Float32, 1.0), array(Float32, nan))[0]))
        assert math.copysign(1, float(pick(array(Float32, 0.0), array(Float32, -0.0))[0])) == -1
    assert float(low(array(Float32, 2.0), array(Float32, 3.0))[0]) == 2.0
    assert float(high(array(Float32, 2.0), array(Float32, 3.0))[0]) == 3.0


def test_float_remainder_has_the_sign_of_the_divisor() -> None:
    a, b = array(Float32, 7.5, -7.5, 7.5, -7.5), array(Float32, 2, 2, -2, -2)
    assert OPERATORS["mod"](a, b).tolist() == [1.5, 0.5, -0.5, -1.5]


def test_float32_is_never_widened() -> None:
    # 1 + 2^-24 rounds to 1 in float32, not in float64.
    one, tiny = array(Float32, 1.0), array(Float32, 2.0**-24)
    assert OPERATORS["sub"](OPERATORS["add"](one, tiny), one).tolist() == [0.0]
    for name in ("add", "sub", "mul", "div", "mod", "min", "max", "pow"):
        assert OPERATORS[name](one, tiny).dtype == np.float32, name
    for name in ("sqrt", "sin", "cos", "tan", "exp", "log", "floor", "ceil", "abs"):
        assert OPERATORS[name](one).dtype == np.float32, name


def test_a_literal_cast_to_bool_keeps_the_lowest_bit() -> None:
    assert [int(fn.cast(Bool, v).value) for v in (0, 1, 2, 3)] == [0, 1, 0, 1]
