"""What is known of the numbers in a kernel: their ends, and whether they wrap."""

from __future__ import annotations

import pytest
from hypothesis import given

from spaces import Expr, Float32, Int32, LoopKind, UInt8, cast
from spaces.backend.cuda.number_ends import FARTHEST, NumberEnds
from spaces.backend.ir.host import BLOCK, THREAD, DeviceFunction
from spaces.backend.ir.statements import For, Store
from spaces.backend.ir.vectors import Load
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Op, Variable, constant, walk
from spaces.model.formulas.algebra import evaluate
from tests.backend.cuda.coordinates import (
    ITERATIONS,
    LOOP,
    SIZES,
    THREADS,
    accessing,
    arithmetic,
    far,
    kernel,
    launches,
    wrapped,
)

MIN, EXTENT, STRIDE = SIZES


@given(number=arithmetic(far), values=launches())
def test_what_is_exact_is_the_same_in_int(number: Expr, values: dict[str, int]) -> None:
    ends = NumberEnds.of(kernel(accessing(number, number < 5)))
    exact = evaluate(number, values)
    if ends.is_exact(number):
        assert wrapped(number, values) == exact
        low, high = ends.of_coordinate(number)
        assert low <= exact <= high
    if ends.wraps_once(number):
        assert wrapped(number, values) == Int32.wrap(exact)
    steps = [evaluate(one, values) for one in walk(number)]
    if all(map(Int32.holds, steps)):
        low, high = ends.of_coordinate(number)
        assert low <= exact <= high


def test_the_ends_of_variables_are_those_of_a_launch() -> None:
    loop = Variable(Int32, "f.s0.y")
    inner = For(loop, LOOP - 2, LOOP + 3, LoopKind.SERIAL, Store("f", loop, constant(1, Int32)))
    ends = NumberEnds.of(kernel(inner))
    assert ends.of_coordinate(THREAD[0]) == (0, THREADS - 1)
    assert ends.of_coordinate(BLOCK[0]) == (0, FARTHEST // THREADS - 1)
    assert ends.of_coordinate(BLOCK[1]) == ends.of_coordinate(BLOCK[2]) == (0, 0)
    assert ends.of_coordinate(LOOP) == (0, ITERATIONS - 1)
    # From LOOP - 2 to 2 * LOOP.
    assert ends.of_coordinate(loop)[0] == -2
    assert ends.of_coordinate(loop)[1] >= 2 * (ITERATIONS - 1)


DATA = Load(Int32, "table", EXTENT)

KNOWN = [
    (EXTENT % 7 * 100, (0, 600)),
    (fn.max(fn.min(DATA, 27), -2) + 5, (3, 32)),
    (EXTENT < MIN, (0, 1)),
    ((EXTENT < MIN) & (MIN <= 4), (0, 1)),
    (fn.select(EXTENT < MIN, EXTENT - 3, constant(-7, Int32)), (-7, FARTHEST - 3)),
    (fn.select(EXTENT < MIN, EXTENT % 7, EXTENT % 3 - 9), (-9, 6)),
    (fn.select(EXTENT < MIN, EXTENT % 3 - 9, EXTENT % 7), (-9, 6)),
    (EXTENT / STRIDE, (0, FARTHEST)),
    (fn.min(MIN, 3) / STRIDE, (-FARTHEST, FARTHEST)),
    (fn.max(MIN, -3) / MIN, (-FARTHEST, FARTHEST)),
    (EXTENT / fn.min(MIN, 3), (-FARTHEST, FARTHEST)),
    (MIN / STRIDE, (-FARTHEST, FARTHEST)),
    (MIN / 4, (-FARTHEST // 4, FARTHEST // 4)),
]
"""Numbers that are exact, with their ends."""

UNKNOWN = [
    EXTENT * STRIDE,
    fn.min(EXTENT * STRIDE, 5),
    EXTENT * STRIDE < 5,
    (EXTENT * STRIDE < 5) & (MIN < 4),
    fn.select(EXTENT * STRIDE < 5, MIN, EXTENT),
    EXTENT * STRIDE / 3,
    Op(Int32, "shift_left", (EXTENT, MIN)),
    Op(Int32, "shift_left", (EXTENT, constant(3, Int32))),
    cast(Int32, Load(Float32, "image", EXTENT)),
    cast(Int32, cast(UInt8, EXTENT)) + 1,
    DATA + 1,
]
"""Numbers that int may not hold, or that nothing is known of."""


@pytest.mark.parametrize(("number", "ends"), KNOWN, ids=str)
def test_what_is_exact_has_ends(number: Expr, ends: tuple[int, int]) -> None:
    known = NumberEnds({})
    assert known.is_exact(number)
    assert number.loads or known.wraps_once(number)
    assert known.of_coordinate(number) == ends


@pytest.mark.parametrize("number", UNKNOWN, ids=str)
def test_what_int_may_not_hold_is_not_exact(number: Expr) -> None:
    assert not NumberEnds({}).is_exact(number)


def test_loops_of_one_name_are_taken_together() -> None:
    store = Store("f", LOOP, constant(1, Int32))
    first, second = (
        For(LOOP, constant(low, Int32), constant(4, Int32), LoopKind.SERIAL, store)
        for low in (10, -7)
    )
    alone = DeviceFunction("alone", kernel(first).grid, (1, 1, 1), (), first)
    assert NumberEnds.of(alone).of_coordinate(LOOP) == (10, 13)
    assert NumberEnds.of(kernel(second)).of_coordinate(LOOP) == (-7, ITERATIONS - 1)
    assert NumberEnds.of(kernel(first)).of_coordinate(LOOP) == (0, 13)


def test_a_buffer_ends_as_near_as_it_begins() -> None:
    ends = NumberEnds({})
    assert ends.is_exact(EXTENT + MIN)
    assert ends.of_coordinate(MIN + EXTENT - 1) == (-FARTHEST - 1, FARTHEST - 1)
    assert not ends.is_exact(EXTENT + EXTENT)
    assert not ends.is_exact(EXTENT - MIN)
    other = Variable(Int32, "g.extent.0"), Variable(Int32, "f.extent.1")
    assert not any(ends.is_exact(one + MIN) for one in other)


def test_loops_and_parameters_may_have_names_like_sizes() -> None:
    """The loop of a reduction over a domain called ``extent`` is no size of a buffer."""
    ends = NumberEnds({})
    assert ends.of_coordinate(Variable(Int32, "f.s1.extent.x"))[0] == Int32.min_value
    assert ends.of_coordinate(Variable(Int32, "extent"))[0] == Int32.min_value
    assert ends.of_coordinate(EXTENT)[0] == ends.of_coordinate(STRIDE)[0] == 0


def test_sums_wrap_as_a_whole_and_quotients_do_not() -> None:
    ends = NumberEnds({})
    product = EXTENT * STRIDE + MIN
    assert ends.wraps_once(product)
    half = Op(Int32, "div", (product, constant(2, Int32)))
    assert not ends.wraps_once(half)
    assert not ends.wraps_once(half * STRIDE + MIN)
    assert not ends.wraps_once(fn.min(product, 0))
