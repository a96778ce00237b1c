"""One formula, read as ints, as arrays and as solver terms."""

from itertools import pairwise

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import Bool, Expr, Int8, Int16, Int32, Int64, Type, UInt8, UInt16, UInt64, cast
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Variable, constant
from spaces.model.formulas.algebra import ARRAYS, INTEGERS, read
from spaces.model.formulas.native import all_hold, read_native
from spaces.model.formulas.smt import term
from tests.draw_counts import examples

pytestmark = pytest.mark.usefixtures("quickly")

NAMES = ("a", "b", "c")
SMALL = st.integers(-7, 7)


MESHES = {
    "one column": ((6,), (6,), (6,)),
    "open mesh": ((3, 1, 1), (1, 4, 1), (1, 1, 5)),
    "two along one axis": ((3, 1), (1, 4), (1, 4)),
    "one along both axes": ((3, 4), (4,), (3, 1)),
    "constants": ((1, 1), (1, 4), ()),
}
"""Shapes of the values of a, b and c."""


def _grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(children, children)
    conditions = st.one_of(
        pairs.map(lambda p: p[0] < p[1]),
        pairs.map(lambda p: p[0] <= p[1]),
        pairs.map(lambda p: p[0] == p[1]),
        pairs.map(lambda p: p[0] != p[1]),
        pairs.map(lambda p: ~(p[0] > p[1])),
        pairs.map(lambda p: (p[0] >= 0) & (p[1] > 0)),
        pairs.map(lambda p: (p[0] >= 0) | (p[1] > 0)),
    )
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: p[0] / p[1]),
        pairs.map(lambda p: p[0] % p[1]),
        pairs.map(lambda p: fn.min(*p)),
        pairs.map(lambda p: fn.max(*p)),
        children.map(lambda e: cast(Int32, fn.abs(e))),
        children.map(lambda e: cast(Int32, cast(UInt8, e))),
        st.tuples(conditions, children, children).map(lambda t: fn.select(*t)),
        conditions.map(lambda c: cast(Int32, c)),
    )


formulas = st.recursive(
    st.one_of(
        st.sampled_from(NAMES).map(lambda n: Variable(Int32, n)),
        SMALL.map(lambda n: constant(n, Int32)),
    ),
    _grow,
    max_leaves=8,
)


@given(formulas, st.lists(st.tuples(SMALL, SMALL, SMALL), min_size=1, max_size=6))
def test_all_readings_agree(formula: Expr, points: list[tuple[int, int, int]]):
    columns = {n: np.array([p[i] for p in points]) for i, n in enumerate(NAMES)}
    array = np.broadcast_to(read(formula, columns, ARRAYS), len(points))
    for i, point in enumerate(points):
        number = read(formula, dict(zip(NAMES, point, strict=True)), INTEGERS)
        assert int(array[i]) == int(number)
        terms = {n: z3.IntVal(v) for n, v in zip(NAMES, point, strict=True)}
        assert z3.simplify(term(formula, terms, z3.main_ctx())).as_long() == int(number)


@settings(max_examples=examples(60), deadline=None)
@given(formulas, st.sampled_from(sorted(MESHES)), st.data())
def test_machine_code_agrees_with_arrays(formula: Expr, mesh: str, data: st.DataObject):
    columns = {n: data.draw(_array(s)) for n, s in zip(NAMES, MESHES[mesh], strict=True)}
    shape = np.broadcast_shapes(*(c.shape for c in columns.values()))
    found = np.broadcast_to(read_native(formula, columns), shape)
    assert np.array_equal(found, np.broadcast_to(read(formula, columns, ARRAYS), shape))


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(formulas, max_size=4), st.sampled_from(sorted(MESHES)), st.data())
def test_machine_code_finds_where_all_conditions_hold(
    sides: list[Expr], mesh: str, data: st.DataObject
):
    columns = {n: data.draw(_array(s)) for n, s in zip(NAMES, MESHES[mesh], strict=True)}
    conditions = [a <= b for a, b in pairwise(sides)]
    shape = np.broadcast_shapes(*(c.shape for c in columns.values()))
    mask = np.ones(shape, np.bool_)
    for condition in conditions:
        mask &= np.asarray(read(condition, columns, ARRAYS), np.bool_)
    assert np.array_equal(np.broadcast_to(all_hold(conditions, columns), shape), mask)


def _array(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    count = int(np.prod(shape))
    return st.lists(SMALL, min_size=count, max_size=count).map(
        lambda numbers: np.array(numbers).reshape(shape)
    )


def test_division_rounds_so_that_the_remainder_is_never_negative():
    """Halide's semantics, spelled out: q * b + r = a and 0 <= r < |b|; both 0 where b is."""
    pairs = np.array([(a, b) for a in range(-7, 8) for b in range(-7, 8)])
    columns = {"a": pairs[:, 0], "b": pairs[:, 1]}
    x, y = Variable(Int32, "a"), Variable(Int32, "b")
    quotients, remainders = read(x / y, columns, ARRAYS), read(x % y, columns, ARRAYS)
    assert np.array_equal(read_native(x / y, columns), quotients)
    assert np.array_equal(read_native(x % y, columns), remainders)
    for (a, b), quotient, remainder in zip(pairs.tolist(), quotients, remainders, strict=True):
        assert read(x / y, {"a": a, "b": b}, INTEGERS) == quotient
        assert read(x % y, {"a": a, "b": b}, INTEGERS) == remainder
        by_number = (x / constant(b, Int32), x % constant(b, Int32))
        for formula, wanted in zip(by_number, (quotient, remainder), strict=True):
            assert read(formula, {"a": np.array([a])}, ARRAYS).tolist() == [wanted]
        if b == 0:
            assert (quotient, remainder) == (0, 0)
        else:
            assert quotient * b + remainder == a
            assert 0 <= remainder < abs(b)


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 62) | st.integers(53, 62), st.integers(1, 20), st.data())
def test_machine_code_divides_numbers_of_any_size(
    bits: int, divisor_bits: int, data: st.DataObject
):
    """Also next to whole quotients, and where doubles do not hold the numbers."""
    b = data.draw(st.integers(1, 1 << divisor_bits))
    multiple = b * data.draw(st.integers((1 << bits) // b // 2, (1 << bits) // b))
    a = np.array([multiple - 1, multiple, multiple + 1, -multiple, -multiple - 1])
    columns = {"a": a, "b": np.array([[b], [-b]]), "c": np.array([[b], [b]])}
    x, y = Variable(Int32, "a"), Variable(Int32, "b")
    z = Variable(Int32, "c")
    for formula in (x / y, x % y, x / z, x % z):
        assert np.array_equal(read_native(formula, columns), read(formula, columns, ARRAYS))


def test_a_condition_is_a_boolean_in_every_reading():
    formula = (Variable(Int32, "a") >= 2) & constant(True, Bool)
    assert read(formula, {"a": 2}, INTEGERS) is True
    assert read(formula, {"a": np.array([1, 2])}, ARRAYS).tolist() == [False, True]
    assert z3.is_true(z3.simplify(term(formula, {"a": z3.IntVal(2)}, z3.main_ctx())))


COUNTED = (Int8, UInt8, Int16, UInt16, Int32, Int64, UInt64)


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(COUNTED), st.data())
def test_bits_are_counted_in_every_reading(element: Type, data: st.DataObject):
    number = data.draw(st.integers(element.min_value, element.max_value))
    bits = f"{number % (1 << element.bits):0{element.bits}b}"
    x = Variable(element, "x")
    wanted = {
        fixed.popcount(x): bits.count("1"),
        fixed.count_leading_zeros(x): len(bits) - len(bits.lstrip("0")),
        fixed.count_trailing_zeros(x): len(bits) - len(bits.rstrip("0")),
    }
    for formula, count in wanted.items():
        assert read(formula, {"x": number}, INTEGERS) == count
        if element.bits < 64:  # arrays hold int64
            assert read(formula, {"x": np.array([number])}, ARRAYS).tolist() == [count]
            assert read_native(formula, {"x": np.array([number, number])}).tolist() == [count] * 2
        assert (
            z3.simplify(term(formula, {"x": z3.IntVal(number)}, z3.main_ctx())).as_long() == count
        )


def test_a_solver_knows_what_bits_are():
    x = z3.Int("x")
    solver = z3.Solver()
    solver.add(1 <= x, x <= 200, x > 100)
    solver.add(term(fixed.popcount(Variable(Int32, "x")), {"x": x}, z3.main_ctx()) == 1)
    assert solver.check() == z3.sat
    assert solver.model()[x].as_long() == 128
    solver.add(x != 128)
    assert solver.check() == z3.unsat
