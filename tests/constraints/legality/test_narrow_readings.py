"""Formulas of narrow types: every reading gives what the reference evaluator calculates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import z3
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces import (
    Bool,
    Expr,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Type,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    cast,
)
from spaces.backend.arithmetic import value_of
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.definitions import arithmetic
from spaces.model.expressions.expr import Op, Variable, binary, compare, constant, walk
from spaces.model.formulas.algebra import ARRAYS, INTEGERS, read
from spaces.model.formulas.instructions import NotNativeError
from spaces.model.formulas.native import read_native
from spaces.model.formulas.smt import term
from tests.draw_counts import examples

TYPES = (Int8, UInt8, Int16, UInt16, UInt32, Int64, UInt64)
ARITHMETIC = ("add", "sub", "mul", "div", "mod", "min", "max")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def numbers(type: Type) -> st.SearchStrategy[int]:
    ends = (type.min_value, type.max_value, 1, 2, 3)
    return st.sampled_from(ends) | st.integers(type.min_value, type.max_value)


@st.composite
def of_type(draw: st.DrawFn, type: Type, depth: int) -> Expr:
    """A random expression of a type, of no int32 numbers."""
    if type.is_bool:
        other = draw(st.sampled_from(TYPES))
        a, b = draw(of_type(other, depth - 1)), draw(of_type(other, depth - 1))
        form = draw(st.sampled_from(["compare", "cast", "alike"]))
        if form == "compare":
            return compare(draw(st.sampled_from(COMPARISONS)), a, b)
        truths = cast(Bool, a), cast(Bool, b)
        name = draw(st.sampled_from(["and", "or", "eq", "ne", "lt", "min", "max"]))
        return truths[0] if form == "cast" else Op(Bool, name, truths)
    if depth <= 0:
        name = draw(st.sampled_from("ab"))
        number = numbers(type).map(lambda n: constant(n, type))
        return draw(st.just(Variable(type, f"{name}.{type}")) | number)
    a, b = draw(of_type(type, depth - 1)), draw(of_type(type, depth - 1))
    kinds = ["plain", "plain", "bits", "shift", "cast", "select", "abs", "derived"]
    match draw(st.sampled_from(kinds)):
        case "plain":
            return binary(draw(st.sampled_from(ARITHMETIC)), a, b)
        case "bits":
            return Op(type, draw(st.sampled_from(["bit_and", "bit_or", "bit_xor"])), (a, b))
        case "shift":
            return Op(type, draw(st.sampled_from(["shift_left", "shift_right"])), (a, b))
        case "cast":
            return cast(type, draw(of_type(draw(st.sampled_from((*TYPES, Bool))), depth - 1)))
        case "select":
            return fn.select(draw(of_type(Bool, depth - 1)), a, b)
        case "abs":
            return cast(type, fn.abs(cast(Type("int", type.bits), a)))
    derived = (fixed.absd, fixed.halving_add, fixed.saturating_add, fixed.saturating_sub)
    return cast(type, draw(st.sampled_from(derived))(a, b))


def values_of(draw: st.DrawFn, formula: Expr) -> dict[str, int]:
    kinds = {n.name: n.type for n in walk(formula) if isinstance(n, Variable)}
    return {name: draw(numbers(kind)) for name, kind in sorted(kinds.items())}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Expr, dict[str, int]]:
    formula = arithmetic(draw(of_type(draw(st.sampled_from((*TYPES, Bool))), 2)))
    return formula, values_of(draw, formula)


def expected(formula: Expr, values: Mapping[str, int]) -> int:
    return int(value_of(formula, values))


@settings(max_examples=examples(150), deadline=None)
@given(cases())
def test_numbers_and_arrays_of_narrow_types_wrap(case: tuple[Expr, dict[str, int]]) -> None:
    formula, values = case
    wanted = expected(formula, values)
    assert int(read(formula, values, INTEGERS)) == wanted
    arrays = {
        n.name: np.full(2, values[n.name], np.object_ if n.type.bits == 64 else np.int64)
        for n in walk(formula)
        if isinstance(n, Variable)
    }
    assert [int(v) for v in np.broadcast_to(read(formula, arrays, ARRAYS), 2)] == [wanted] * 2


@settings(max_examples=examples(80), deadline=None)
@given(cases())
def test_machine_code_of_narrow_types_wraps(case: tuple[Expr, dict[str, int]]) -> None:
    formula, values = case
    assume(not any(n.type is UInt64 for n in walk(formula)))
    for count in (2, 5):  # fewer than the lanes of a vector, and more
        arrays = {name: np.full(count, value) for name, value in values.items()}
        found = np.broadcast_to(read_native(formula, arrays), count)
        assert [int(v) for v in found] == [expected(formula, values)] * count


@settings(max_examples=examples(60), deadline=None)
@given(cases())
def test_terms_of_narrow_types_wrap(case: tuple[Expr, dict[str, int]]) -> None:
    formula, values = case
    found = z3.simplify(term(formula, {n: z3.IntVal(v) for n, v in values.items()}, z3.main_ctx()))
    number = int(z3.is_true(found)) if z3.is_bool(found) else found.as_long()
    assert number == expected(formula, values)


A, B, N = Variable(UInt8, "a"), Variable(UInt8, "b"), Variable(Int64, "n")


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (cast(Int32, A + B), (200 + 100) % 256),
        (cast(Int32, B - A), (100 - 200) % 256),
        (cast(Int32, A * B), 200 * 100 % 256),
        (cast(Int32, A << (B - 98)), 200 * 4 % 256),
        (cast(Int32, cast(UInt16, A) + B), 300),
        (Variable(Int32, "n") << cast(Int32, B), 0),
    ],
)
def test_what_wraps_by_hand(formula: Expr, wanted: int) -> None:
    values = {"a": 200, "b": 100, "n": 5}
    assert read(formula, values, INTEGERS) == wanted
    assert np.all(read(formula, {n: np.array([v]) for n, v in values.items()}, ARRAYS) == wanted)
    terms = {n: z3.IntVal(v) for n, v in values.items()}
    assert z3.simplify(term(formula, terms, z3.main_ctx())).as_long() == wanted


@pytest.mark.parametrize(
    ("type", "formula"),
    [
        (Float32, cast(Float32, N)),
        (UInt64, cast(UInt64, N)),
        (Int32, cast(Int32, cast(Float64, N) / 2.0)),
    ],
    ids=str,
)
def test_machine_code_refuses_conversions_that_it_does_not_have(type: Type, formula: Expr) -> None:
    with pytest.raises(NotNativeError, match=f"has no (conversion to|numbers of) {type}"):
        read_native(formula, {"n": np.array([1, 2])})


def test_machine_code_trusts_no_end_of_a_difference_that_wraps() -> None:
    """A number below every int64 wraps to a large one, whose lower 32 bits say too little."""
    factor = cast(Int64, cast(Int32, N))
    wrapped = factor * 2**31 - constant(2**63 - 1, Int64)
    formula = Op(Int64, "max", (wrapped, constant(0, Int64))) * cast(UInt8, N)
    numbers = np.array([-3, -(2**31), -1, 2, 2**31 - 1])
    differences = [int(n) * 2**31 - 2**63 + 1 for n in numbers]
    wanted = [
        max(Int64.wrap(d), 0) * (int(n) % 256) for d, n in zip(differences, numbers, strict=True)
    ]
    assert read_native(formula, {"n": numbers}).tolist() == [Int64.wrap(n) for n in wanted]


def test_machine_code_rounds_large_numbers_to_the_nearest_double() -> None:
    """Numbers that need more than 53 bits, one in each lane of a vector."""
    numbers = [2**62 + 513, -(2**62) - 511, 2**53 + 1, -(2**53) - 3, 2**63 - 1, -(2**63), 7, -1]
    found = read_native(cast(Float64, N), {"n": np.array(numbers)})
    assert found.tolist() == [float(n) for n in numbers]
