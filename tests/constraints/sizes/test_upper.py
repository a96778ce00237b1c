"""Constants that sizes in kernels never exceed."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces import Func, Var, device, pipeline, schedule, verify
from spaces.constraints.sizes.upper import upper_bound
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Variable, constant
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind, Tail
from spaces.model.schedules.schedule import MemoryType

STEP, WIDTH = Variable(Int32, "f.s0.i"), Variable(Int32, "f.extent.0")
LAST = 5
LOOP = LoopVar(
    STEP,
    "f",
    0,
    "i",
    LoopKind.SERIAL,
    constant(0, Int32),
    constant(LAST, Int32),
    constant(6, Int32),
)


def bound(expr: Expr) -> Expr:
    simplify = Simplifier()
    simplify.assume(STEP.name, LOOP.min, LOOP.max)
    return upper_bound(simplify(expr), (LOOP,), simplify, lambda e: not variables(e))


def _grow(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(parts, parts)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: fn.min(*p)),
        pairs.map(lambda p: fn.max(*p)),
        parts.map(lambda e: e * 3),
        parts.map(lambda e: e * -2),
        pairs.map(lambda p: fn.select(STEP == 0, *p)),
    )


sizes = st.recursive(
    st.one_of(st.sampled_from([STEP, WIDTH]), st.integers(-4, 8).map(lambda n: constant(n, Int32))),
    _grow,
    max_leaves=6,
)


@given(sizes)
def test_a_bound_is_never_exceeded(expr: Expr):
    most = bound(expr)
    for i, width in itertools.product(range(LAST + 1), (1, 2, 5, 40)):
        values = {STEP.name: i, WIDTH.name: width}
        assert evaluate(expr, values) <= evaluate(most, values)


def test_the_end_of_a_tile_less_its_beginning_is_the_tile():
    tile = fn.min(STEP * 32 + 32, WIDTH) - STEP * 32
    assert evaluate(bound(tile), {}) == 32


def test_a_minimum_that_is_taken_away_counts_at_its_least():
    assert evaluate(bound(8 - fn.min(WIDTH, 5)), {}) == 7


def test_the_first_step_of_a_window_counts():
    assert evaluate(bound(fn.select(STEP == 0, 3, 1) + 1), {}) == 4


def test_what_depends_on_a_size_stays_a_formula_over_it():
    assert not isinstance(bound(WIDTH + STEP), Const)
    assert variables(bound(WIDTH + STEP)) == (WIDTH.name,)


def test_nested_selects_are_given_up_soon():
    chosen = WIDTH
    for level in range(12):
        other = Variable(Int32, f"f.min.{level}")
        chosen = fn.select(STEP == level, fn.min(chosen, other) * 3, other - chosen)
    tries = []

    def is_constant(expr: Expr) -> bool:
        tries.append(expr)
        return not variables(expr)

    simplify = Simplifier()
    simplify.assume(STEP.name, LOOP.min, LOOP.max)
    assert variables(upper_bound(chosen, (LOOP,), simplify, is_constant))
    assert len(tries) < 50


@pytest.mark.parametrize("place", [lambda x: -x, lambda x: x * 2, lambda x: ~x, lambda x: x])
def test_a_tile_that_is_read_mirrored_has_a_constant_size(place: Callable[[Var], Expr]):
    x = Var("x")
    g, f = Func("g"), Func("f")
    g[x] = x * 2
    f[x] = g[place(x)]
    made = pipeline(f)
    tiled = schedule(made).func("f").split("x", "x", "xi", 8, Tail.GUARD_WITH_IF)
    stored = tiled.func("g").compute_at("f", "x").store_in(MemoryType.STACK).vectorize("x", 4)
    assert verify(made, stored.schedule, device("cpu")).legal
