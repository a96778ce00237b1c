"""When two flat indices name different places, in memory whose extents are formulas of sizes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import Expr, Func, Int32, Obligation, Proven, Var, loop_nest, parse_schedule, pipeline
from spaces.backend.proofs.places import Places, shapes
from spaces.constraints.obligations.decide import decide
from spaces.constraints.reasoning.formulas import SECOND, Second, at_most, within
from spaces.model.expressions.expr import Variable, constant
from spaces.model.formulas.algebra import ARRAYS, evaluate, read
from tests.draw_counts import examples

X, Y, Z, N, M = (Variable(Int32, n) for n in ("x", "y", "z", "n", "m"))
OTHER = Second(("x", "y", "z"))
WIDTH, HEIGHT = (N + 7) / 8 * 8, M * 2 - 1
PLACES = Places(
    {},
    {
        "f": (WIDTH, HEIGHT, constant(3, Int32)),
        "g": (constant(4, Int32), N),
        "h": (constant(8, Int32), HEIGHT, constant(3, Int32)),
    },
)


def number(value: int) -> Expr:
    return constant(value, Int32)


@settings(max_examples=examples(60))
@given(
    st.sampled_from("fh"),
    *[st.sampled_from([X, Y, Z, X - Y, X * 2, Y + Z * 3, N - X, number(1)])] * 3,
)
def test_places_that_are_apart_have_other_indices(buffer: str, x: Expr, y: Expr, z: Expr) -> None:
    index = x + PLACES.extents[buffer][0] * (y + HEIGHT * z)
    apart = PLACES.apart(buffer, index, OTHER(index))
    names = ("x", "y", "x" + SECOND, "y" + SECOND)
    every = product((1, 9), (1, 2), (0, 1), *[range(3)] * 4)
    n, m, depth, *rest = np.array(list(every), np.int64).T
    at = dict(zip(names, rest, strict=True))
    at |= {"n": n, "m": m, "z": depth, "z" + SECOND: 1 - depth}
    is_other = read(index, at, ARRAYS) != read(OTHER(index), at, ARRAYS)
    assert np.all(is_other | ~np.asarray(read(apart, at, ARRAYS), bool))


@pytest.mark.parametrize("buffer", ["f", "h"])
def test_threads_of_a_tile_no_wider_than_a_row_are_apart(buffer: str) -> None:
    """Rows are a number of places long, or as many as a formula says: at least 8."""
    index = X + PLACES.extents[buffer][0] * (Y + HEIGHT * Z)
    goal = PLACES.apart(buffer, index, OTHER(index))
    assert isinstance(decide(asked(goal, width=8)), Proven)
    assert not isinstance(decide(asked(goal, width=9)), Proven)


def asked(goal: Expr, width: int) -> Obligation:
    """The obligation that two threads of ``width`` x 1 in the same plane access different
    places.
    """
    known = [
        *within(X, number(0), number(width - 1)),
        *within(OTHER(X), number(0), number(width - 1)),
        *(c for v in (Y, Z) for c in within(OTHER(v), v, v)),
        *(at_most(number(1), v) for v in (N, M)),
        at_most(X + 1, OTHER(X)),
    ]
    return Obligation("barrier", "f", 0, "A test.", tuple(known), goal, "f", sizes=("n", "m"))


def test_rows_of_as_many_places_as_a_number_says_are_compared_as_they_are() -> None:
    index = X + Y * 4
    assert not PLACES.is_symbolic("g")
    assert PLACES.is_symbolic("f")
    at = {"x": 4, "y": 0, "n": 3, "x" + SECOND: 0, "y" + SECOND: 1}
    assert not evaluate(PLACES.apart("g", index, OTHER(index)), at)


def test_shapes_are_in_the_order_of_memory() -> None:
    x, y = Var("x"), Var("y")
    f, g = Func("f"), Func("g")
    f[x, y] = x + y
    g[x, y] = f[x + 1, y] + f[x, y + 2]
    text = "f.compute_root().reorder_storage(y, x)"
    found = pipeline(g)
    nest = loop_nest(found, parse_schedule(text, found))
    high, wide = shapes(nest)["f"]
    at = {"g.extent.0": 10, "g.extent.1": 20, "g.min.0": 0, "g.min.1": 0}
    assert (evaluate(high, at), evaluate(wide, at)) == (22, 11)
