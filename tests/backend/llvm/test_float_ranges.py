"""The known range of a float before it becomes an integer contains its values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import Bool, Expr, Float32, Int16, Int32, UInt8, cast, clamp, max, min, select
from spaces.backend.arithmetic import OPERATORS, convert
from spaces.backend.llvm.float_ranges import FloatRange, float_range
from spaces.model.expressions.expr import Cast, Const, Op, Variable, constant, walk
from tests.draw_counts import examples

V, B = Variable(Float32, "v"), Variable(UInt8, "b")
CLAMPED = clamp(V, 0.0, 255.0)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (CLAMPED, FloatRange(0.0, 255.0, True)),
        (min(constant(255.0, Float32), V), FloatRange(-math.inf, 255.0, False)),  # NaN stays
        (max(constant(0.0, Float32), CLAMPED), FloatRange(0.0, 255.0, True)),
        (max(V, 0.0), FloatRange(0.0, math.inf, True)),
        (cast(Float32, B), FloatRange(0.0, 255.0, True)),
        (cast(Float32, Variable(Int32, "i")), FloatRange(is_number=True)),
        (select(Variable(Bool, "c"), CLAMPED, cast(Float32, B) * 0.0), FloatRange(-1, 255, True)),
        (V + 1.0, FloatRange()),
        # If V is NaN, the first operand is NaN, and the result is the second.
        (min(min(constant(255.0, Float32), V), cast(Float32, B) + 45.0), FloatRange(high=300.0)),
    ],
)
def test_known_limits(expr: Expr, expected: FloatRange) -> None:
    found = float_range(expr)
    assert found.is_number == expected.is_number or str(B) in expr.names
    if math.isfinite(expected.low):
        assert expected.low - 1 < found.low <= max_of(expected.low, 0)
    else:
        assert found.low == expected.low
    assert found.high == pytest.approx(expected.high, abs=0.01)


def max_of(a: float, b: float) -> float:
    return a if a > b else b


FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1e38, -1e38, 255.0, 256.0])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> Expr:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        number = st.floats(-1e6, 1e6, width=32).map(lambda x: constant(x, Float32))
        leaves = st.sampled_from([V, cast(Float32, B), cast(Float32, Variable(Int16, "s"))])
        return draw(leaves | number)
    a, b = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    name = draw(st.sampled_from(["min", "max", "min", "max", "add", "sub", "mul", "select"]))
    if name == "select":
        return Op(Float32, "select", (Variable(Bool, "c"), a, b))
    return Op(Float32, name, (a, b))


def value_of(root: Expr, values: dict[str, object]) -> float:
    """The value that :mod:`spaces.backend.reference` computes."""
    done: dict[Expr, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for node in walk(root):
            parts = [done[c] for c in node.children]
            if isinstance(node, Const):
                done[node] = np.asarray(node.value, node.type.dtype)
            elif isinstance(node, Variable):
                done[node] = np.asarray(values[node.name], node.type.dtype)
            elif isinstance(node, Cast):
                done[node] = convert(node.type, parts[0])
            else:
                assert isinstance(node, Op)
                done[node] = np.asarray(OPERATORS[node.name](*parts), node.type.dtype)
    return float(done[root])


@settings(max_examples=examples(300), deadline=None)
@given(expressions(), FLOATS, st.integers(0, 255), st.integers(-(2**15), 2**15 - 1), st.booleans())
def test_values_lie_within_limits(root: Expr, v: float, b: int, s: int, c: bool) -> None:
    limits = float_range(root)
    value = value_of(root, {"v": v, "b": b, "s": s, "c": c})
    if math.isnan(value):
        assert not limits.is_number
    else:
        assert limits.low <= value <= limits.high
