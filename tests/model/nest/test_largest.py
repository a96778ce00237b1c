"""Bounds of sizes while loops run, against all iterations of the loops."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces import Func, Var, device, pipeline, schedule, verify
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Const, Expr, Variable, constant
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.largest import largest, largest_constant
from spaces.model.nest.traversal import LoopVar, loop_ranges
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
    return largest_constant(simplify(expr), (LOOP,), simplify, lambda e: not variables(e))


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


TILE, WITHIN = Variable(Int32, "f.s0.o"), Variable(Int32, "f.s0.n")


def _loop(var: Variable, low: Expr, last: Expr) -> LoopVar:
    name = var.name.rpartition(".")[2]
    return LoopVar(var, "f", 0, name, LoopKind.SERIAL, low, last, last - low + 1)


def _tiles(simplify: Simplifier, factor: int) -> tuple[LoopVar, ...]:
    """Tiles of ``factor`` that cover WIDTH, the last one cut off at its end."""
    tiles = (
        _loop(TILE, constant(0, Int32), (WIDTH + factor - 1) / factor - 1),
        _loop(WITHIN, constant(0, Int32), fn.min(WIDTH - TILE * factor, factor) - 1),
    )
    for loop in tiles:
        simplify.assume(loop.var.name, loop.min, loop.max)
    return tiles


def _combined(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs, numbers = st.tuples(parts, parts), st.integers(1, 5)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: fn.min(*p)),
        pairs.map(lambda p: fn.max(*p)),
        pairs.map(lambda p: fn.select(p[0] < p[1], *p)),
        st.tuples(parts, numbers).map(lambda p: p[0] / p[1]),
        st.tuples(parts, numbers).map(lambda p: p[0] % p[1]),
        st.tuples(parts, numbers).map(lambda p: fn.clamp(p[0], 0, WIDTH - p[1])),
        st.tuples(parts, st.sampled_from([-2, 2, 8])).map(lambda p: p[0] * p[1]),
    )


ends = st.recursive(
    st.one_of(
        st.sampled_from([TILE * 8, TILE * 8 + WITHIN, fn.min(TILE * 8 + 8, WIDTH), WITHIN, WIDTH]),
        st.integers(-4, 8).map(lambda n: constant(n, Int32)),
    ),
    _combined,
    max_leaves=5,
)


@given(ends, ends)
def test_an_extent_has_the_better_of_two_bounds(low: Expr, high: Expr):
    """No iteration exceeds the bound, and the limits of both ends give no smaller one."""
    simplify = Simplifier()
    loops = _tiles(simplify, 8)
    extent = simplify(high - low + 1)
    most = largest(extent, loops, simplify)
    apart = Ranges(simplify, loop_ranges(loops, simplify)).most(extent)
    for width in (1, 7, 8, 20):
        size = {WIDTH.name: width}
        seen = [
            evaluate(extent, {**size, TILE.name: x // 8, WITHIN.name: x % 8}) for x in range(width)
        ]
        if variables(most) in ((), (WIDTH.name,)):
            assert evaluate(most, size) >= max(seen)
        if apart is not None:
            assert evaluate(most, size) <= evaluate(apart, size)


@pytest.mark.parametrize(
    ("extent", "width", "most"),
    [
        (lambda x: fn.min(x + 8, WIDTH) - x, 100, 8),
        (lambda x: fn.min(x + 8, WIDTH) - x, 5, 5),
        (lambda x: fn.min(x + 8, WIDTH) - fn.max(x - 1, 0), 100, 9),
        (lambda x: fn.clamp(x + 8, 0, WIDTH - 1) - fn.clamp(x - 1, 0, WIDTH - 1) + 1, 100, 10),
        (lambda x: (fn.min(x + 8, WIDTH) - 1) / 2 - x / 2 + 1, 100, 4),
        (lambda x: fn.min(x + 8, WIDTH) * 2 - fn.min(x * 2, WIDTH * 2 - 5), 100, 16),
        (lambda x: (fn.min(x + 8, WIDTH) - x) * 3 / 2, 100, 12),
        (lambda x: fn.select(x == 0, fn.min(x + 8, WIDTH), x + 3) - x, 100, 8),
    ],
)
def test_tiles_that_a_guard_cuts_off(extent: Callable[[Expr], Expr], width: int, most: int):
    simplify = Simplifier()
    loops = _tiles(simplify, 8)
    found = largest(simplify(extent(TILE * 8)), loops, simplify)
    assert evaluate(found, {WIDTH.name: width}) == most
    simplify = Simplifier()
    simplify.fix_value(WIDTH.name, constant(width, Int32))
    loops = _tiles(simplify, 8)
    assert largest(simplify(extent(TILE * 8)), loops, simplify) is constant(most, Int32)


def test_limits_of_an_inner_loop_move_with_the_outer_one():
    simplify = Simplifier()
    loops = _tiles(simplify, 8)
    found = largest(TILE * 8 + WITHIN - WIDTH + 1, loops, simplify)
    assert [evaluate(found, {WIDTH.name: width}) for width in (1, 8, 20)] == [0, 0, 0]


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
    assert variables(largest_constant(chosen, (LOOP,), simplify, is_constant))
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


def test_values_that_are_read_may_wrap():
    """Of 2**30 twice as much is -2**31, and the whole is 2**30, although no number is larger than
    the lesser of two.
    """
    value = Call(Int32, "image", (STEP,))
    assert isinstance(bound(fn.min(value + value, 7)), Const)
    assert not isinstance(bound(fn.min(value + value, value) - value), Const)
