"""One formula, read as ints, as arrays and as solver terms."""

import numpy as np
import z3
from hypothesis import given
from hypothesis import strategies as st

from spaces.model import functions as fn
from spaces.model.algebra import ARRAYS, INTEGERS, read
from spaces.model.expr import Expr, Variable, cast, constant
from spaces.model.smt import term
from spaces.model.types import Bool, Int32, UInt8

NAMES = ("a", "b", "c")
SMALL = st.integers(-7, 7)


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
        assert z3.simplify(term(formula, terms)).as_long() == int(number)


@given(SMALL, SMALL)
def test_division_rounds_so_that_the_remainder_is_never_negative(a: int, b: int):
    """Halide's semantics, spelled out: q * b + r = a and 0 <= r < |b|; both 0 where b is."""
    x, y = Variable(Int32, "a"), Variable(Int32, "b")
    quotient = read(x / y, {"a": a, "b": b}, INTEGERS)
    remainder = read(x % y, {"a": a, "b": b}, INTEGERS)
    if b == 0:
        assert (quotient, remainder) == (0, 0)
    else:
        assert quotient * b + remainder == a
        assert 0 <= remainder < abs(b)


def test_a_condition_is_a_boolean_in_every_reading():
    formula = (Variable(Int32, "a") >= 2) & constant(True, Bool)
    assert read(formula, {"a": 2}, INTEGERS) is True
    assert read(formula, {"a": np.array([1, 2])}, ARRAYS).tolist() == [False, True]
    assert z3.is_true(z3.simplify(term(formula, {"a": z3.IntVal(2)})))
