"""Coordinates that are calculated from values that are read: they wrap, unlike loop variables."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.arithmetic import value_of
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.constraints.reasoning.opaque import Opaque
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definitions import arithmetic
from spaces.model.expressions.expr import Call, Const, Expr, Variable, binary, cast, constant
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int8, Int16, Int32, Type, UInt8, UInt16, UInt32
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from tests.draw_counts import examples

X = Variable(Int32, "x")
TYPES = (UInt8, Int8, UInt16, Int16, Int32, UInt32)
READS = {type: Call(type, f"{type}", (X,)) for type in TYPES}


# Strategies are made once: Hypothesis examines each new one for longer than it draws from it.
PLAIN = st.sampled_from(["add", "sub", "mul", "div", "mod", "min", "max"])
FORM = st.sampled_from(["plain", "plain", "select", "cast", "cast", "bits", "abs"])
NARROWER = st.sampled_from(TYPES)


@cache
def values(type: Type) -> st.SearchStrategy[int]:
    ends = st.sampled_from([type.min_value, type.max_value, 1, 2])
    return ends | st.integers(type.min_value, type.max_value)


@cache
def leaf(type: Type) -> st.SearchStrategy[Expr]:
    """A value that is read, or a literal."""
    # Literals alone are coordinates, which do not wrap.
    large = [] if type == Int32 else [256, 65536, type.max_value, type.min_value]
    numbers = [n for n in (1, 2, 3, 7, -1, *large) if type.holds(n)]
    return st.just(READS[type]) | st.sampled_from([constant(n, type) for n in numbers])


@cache
@st.composite
def calculated(draw: st.DrawFn, type: Type, depth: int) -> Expr:
    """A number calculated from values that are read."""
    if depth <= 0:
        return draw(leaf(type))
    a, b = draw(calculated(type, depth - 1)), draw(calculated(type, depth - 1))
    match draw(FORM):
        case "plain":
            return binary(draw(PLAIN), a, b)
        case "select":
            return fn.select(a < b, b, draw(calculated(type, depth - 1)))
        case "bits":
            return draw(st.sampled_from([a & b, a | b, a << 2, a >> 1]))
        case "abs":
            return cast(type, fn.abs(cast(Type("int", type.bits), a)))
    return cast(type, draw(calculated(draw(NARROWER), depth - 1)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Expr, dict[str, int]]:
    index = arithmetic(draw(calculated(Int32, draw(st.integers(1, 3)))))
    return index, {f"{type}": draw(values(type)) for type in TYPES}


def given_as_numbers(expr: Expr) -> Expr:
    """An expression with a parameter in place of each read."""
    return rewrite(expr, lambda n: Variable(n.type, n.target) if isinstance(n, Call) else n)


@settings(max_examples=examples(200), deadline=None)
@given(cases())
def test_limits_hold_of_numbers_that_wrap(case: tuple[Expr, dict[str, int]]) -> None:
    index, numbers = case
    value = int(value_of(given_as_numbers(index), numbers))
    found = Ranges(Simplifier(), {}).of(index)
    assert not isinstance(found.min, Const) or found.min.value <= value
    assert not isinstance(found.max, Const) or value <= found.max.value


@settings(max_examples=examples(200), deadline=None)
@given(cases())
def test_a_formula_has_the_value_that_is_calculated(case: tuple[Expr, dict[str, int]]) -> None:
    index, numbers = case
    opaque = Opaque()
    formula = opaque.formula(index)
    meant = {
        name: int(value_of(given_as_numbers(meaning), numbers))
        for name, meaning in opaque.meaning.items()
    }
    assert evaluate(formula, meant) == int(value_of(given_as_numbers(index), numbers))
    assert all(evaluate(limit, meant) for limits in opaque.limits.values() for limit in limits)


READ = READS[Int32]


@pytest.mark.parametrize(
    "index", [READ / -1, READ / cast(Int32, READS[Int8]), cast(Int32, fn.abs(READ)), READ * 3]
)
def test_the_smallest_number_overflows_in_formulas_too(index: Expr) -> None:
    index, numbers = arithmetic(index), {"int32": Int32.min_value, "int8": -1}
    opaque = Opaque()
    formula = opaque.formula(index)
    meant = {
        name: int(value_of(given_as_numbers(meaning), numbers))
        for name, meaning in opaque.meaning.items()
    }
    value = int(value_of(given_as_numbers(index), numbers))
    assert Int32.holds(value)
    assert evaluate(formula, meant) == value


def test_conversions_that_change_numbers_leave_no_room() -> None:
    """-1 is 65535 as a uint16; 40000 times that is no int32."""
    simplify, read = Simplifier(), READS[Int8]
    for type, is_small in ((UInt16, False), (Int16, True)):
        product = simplify.polynomial(cast(Int32, cast(type, read)) * 40000)
        assert simplify.never_wrap(product) is is_small


@pytest.mark.parametrize("number", [2**31, -(2**31), 2**32 + 5, -(2**40), 3 * 2**70])
def test_numbers_beyond_int32_are_written_out(number: int) -> None:
    form = Polynomial.of(X).scaled(number) + Polynomial.of(number - 1)
    assert evaluate(form.expr(), {"x": 3}) == 4 * number - 1
    assert evaluate(Polynomial.of(number).expr(), {}) == number


A, B = ImageParam(UInt16, 1, "a"), ImageParam(UInt16, 1, "b")
AT = Var("x")


def table_read_at(index: Expr) -> object:
    table, out = Func("table"), Func("out")
    table[AT] = AT
    out[AT] = table[index]
    algorithm = pipeline(out)
    chosen = schedule(algorithm).func("table").compute_root().schedule
    return verify(algorithm, chosen, device("cpu"))


def test_a_product_that_wraps_has_no_region() -> None:
    """65535 * 65535 is -131071 as an int32; the region was once taken to be that of the wrapped
    number.
    """
    assert np.int32(np.uint32(65535 * 65535)) == -131071
    product = cast(Int32, A[AT]) * cast(Int32, B[AT])
    for index in (product, product + 131071, product / 65536):
        refused = table_read_at(index)
        assert [v.rule for v in refused.violations] == ["bounds.unbounded"]


def test_a_product_that_cannot_wrap_has_one() -> None:
    checked = table_read_at(cast(Int32, A[AT]) * (cast(Int32, B[AT]) / 2) / 65536)
    assert isinstance(checked, CheckedSchedule)
    (interval,) = checked.nest.placements["table"].demanded
    assert (interval.min.value, interval.max.value) == (0, 65535 * 32767 // 65536)
    assert len(prove(checked).proven) == len(prove(checked).proofs)


C = ImageParam(Int32, 1, "c")


@pytest.mark.parametrize(
    "index",
    [
        # At 60000 a pixel of 65535 gives a number that wraps to -362907296.
        fn.min(cast(Int32, A[AT]) * AT, 100),
        fn.min(fn.clamp(C[AT], 0, 1 << 30) * AT, 100),
        # The smallest int32 gives 0.
        fn.max(fn.min(C[AT], 5) * 20, 3) + 0,
        # The largest int32 and one more give the smallest.
        fn.min(fn.clamp(C[AT], 0, C.extent(0)) + fn.max(C[AT + 1], 0), 100),
    ],
)
def test_what_is_read_times_a_coordinate_or_with_one_limit_has_none(index: Expr) -> None:
    """Of each the limit that can be told was once told, though the number may wrap beyond it."""
    refused = table_read_at(index)
    assert [v.rule for v in refused.violations] == ["bounds.unbounded"]


def test_narrow_numbers_and_clamped_ones_keep_their_limits() -> None:
    for index in (
        cast(Int32, A[AT]) + AT,
        fn.clamp(cast(Int32, A[AT]) * AT, 0, 9),
        fn.clamp(C[AT] * AT + C[AT], 0, 9),
        fn.clamp(C[AT], 0, 9) * 3 - AT,
    ):
        assert isinstance(table_read_at(index), CheckedSchedule), index


def test_conditions_on_what_wraps_are_no_arithmetic_of_coordinates() -> None:
    """``a + 1 > a`` is false of the largest int32."""
    opaque = Opaque()
    read = READS[Int32]
    condition = opaque.formula(read + 1 > read)
    assert condition.type == Bool
    names = [n for n, meaning in opaque.meaning.items() if meaning is not read]
    assert len(names) == 1
    (whole,) = set(opaque.meaning) - set(names)
    assert not evaluate(condition, {whole: Int32.max_value, names[0]: Int32.min_value})


def test_the_magnitude_of_a_value_that_is_read_may_not_fit() -> None:
    """``int32(abs(-2**31))`` is ``-2**31``; the magnitude of a limited value fits."""
    image = ImageParam(Int32, 1, "image")
    x = Variable(Int32, "x")
    read = image[x].as_expr()
    whole = Ranges(Simplifier(), {}).of(cast(Int32, fn.abs(read)))
    assert whole.min is None or int(whole.min.value) == -(2**31)
    limited = Ranges(Simplifier(), {}).of(cast(Int32, fn.abs(fn.clamp(read, -5, 3))))
    assert (limited.min.value, limited.max.value) == (0, 5)


def test_a_minimum_of_equal_sums_of_values_that_are_read_has_no_limits() -> None:
    image = ImageParam(Int32, 1, "image")
    read = image[Variable(Int32, "x")].as_expr()
    twice = binary("add", read, read)
    found = Ranges(Simplifier(), {}).of(binary("min", twice, twice))
    assert (found.min, found.max) == (None, None)
