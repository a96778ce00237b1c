"""Sums over loops equal the sums of all their terms."""

from __future__ import annotations

import pytest

from spaces.features.totals import LONGEST_PERIOD, Totals
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind

OUTER, INNER, N = (Variable(Int32, name) for name in ("f.s0.i", "f.s0.j", "f.extent.0"))


def _loop(var: Variable, low: Expr, extent: Expr) -> LoopVar:
    return LoopVar(var, "f", 0, var.name, LoopKind.SERIAL, low, low + extent - 1, extent)


def _number(value: int) -> Expr:
    return constant(value, Int32)


@pytest.mark.parametrize(
    "value",
    [
        _number(3),
        OUTER + 1,
        2 * OUTER - INNER + 7,
        fn.select(OUTER == 0, _number(5), _number(1)),
        fn.select(INNER == 2, _number(4), OUTER + 1),
        fn.select(OUTER == 0, _number(3), _number(1))
        * fn.select(INNER == 2, _number(3), _number(1)),
    ],
    ids=str,
)
def test_totals_of_steady_and_linear_values(value: Expr) -> None:
    loops = (_loop(OUTER, _number(0), N), _loop(INNER, _number(2), _number(5)))
    formula = Totals(Simplifier()).total(value, loops)
    n = 9
    expected = sum(
        evaluate(value, {OUTER.name: i, INNER.name: j, N.name: n})
        for i in range(n)
        for j in range(2, 7)
    )
    assert evaluate(formula, {N.name: n}) == expected


def test_inner_loops_may_depend_on_outer_ones() -> None:
    """A triangle: 1 + 2 + ... + 9."""
    loops = (_loop(OUTER, _number(0), N), _loop(INNER, _number(0), OUTER + 1))
    assert evaluate(Totals(Simplifier()).count(loops), {N.name: 9}) == 45


def test_typical_values_are_those_of_a_running_window() -> None:
    value = fn.select(OUTER == 0, _number(3), _number(1))
    typical = Totals(Simplifier()).typical(value, (_loop(OUTER, _number(0), N),))
    assert evaluate(typical, {}) == 1


@pytest.mark.parametrize("divisor", [2, 3, 4])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_totals_of_values_that_repeat(divisor: int, size: int) -> None:
    """The new lines of a window that moves on by a line every few iterations: in tiles of one line
    or more, whatever their size.
    """
    tile = Variable(Int32, "tile")
    end = (tile * OUTER + tile + 4) / divisor
    value = fn.select(OUTER == 0, end + 1, end - (tile * OUTER + 4) / divisor)
    n = 1 + 12 * divisor
    formula = Totals(Simplifier()).total(value, (_loop(OUTER, _number(0), N),))
    sizes = {N.name: n, tile.name: size}
    expected = sum(evaluate(value, {OUTER.name: i, **sizes}) for i in range(n))
    assert evaluate(formula, sizes) == expected


def test_a_typical_value_is_the_largest_of_those_that_repeat() -> None:
    value = (OUTER + 1) / 3 - OUTER / 3 + 1
    for start in range(3):
        typical = Totals(Simplifier()).typical(value, (_loop(OUTER, _number(start), N),))
        assert evaluate(typical, {N.name: 9}) == 2


def test_formulas_do_not_double_with_each_loop_whose_values_repeat() -> None:
    """The new line of a window in an image of a sixteenth of the size, in tiles of any size."""
    at = Variable(Int32, "tile") * OUTER + INNER
    value = (at + 1) / 16 - at / 16
    loops = (_loop(OUTER, _number(0), N), _loop(INNER, _number(0), _number(99)))
    typical = Totals(Simplifier()).typical(value, loops)
    assert evaluate(typical, {"tile": 7, N.name: 50}) == 1
    parts = [typical]
    while any(isinstance(one, Op) and one.name == "max" for one in parts):
        parts = [
            part
            for one in parts
            for part in (one.args if isinstance(one, Op) and one.name == "max" else (one,))
        ]
    assert len(parts) <= LONGEST_PERIOD


def test_counts_beyond_32_bits_do_not_wrap() -> None:
    """With sizes as numbers all factors are numbers, and so are their products."""
    loops = (_loop(OUTER, _number(0), _number(100_000)), _loop(INNER, _number(0), OUTER + 1))
    formula = Totals(Simplifier()).total(_number(70_000), loops)
    assert evaluate(formula, {}) == 70_000 * 100_000 * 100_001 // 2


def test_products_of_sums_are_sums_of_products() -> None:
    """Two extents depend on the outer loop, one of them on the inner loop, too."""
    third = Variable(Int32, "f.s0.k")
    loops = (
        _loop(OUTER, _number(0), N),
        _loop(INNER, _number(0), fn.select(OUTER == 0, _number(5), _number(2))),
        _loop(third, _number(0), INNER + 3),
    )
    formula = Totals(Simplifier()).count(loops)
    expected = sum(j + 3 for i in range(7) for j in range(5 if i == 0 else 2))
    assert evaluate(formula, {N.name: 7}) == expected


@pytest.mark.parametrize("trips", [1, 2, 3, 12, 13])
def test_a_period_ends_with_its_loop(trips: int) -> None:
    """The division by 16 repeats after 16 iterations, and the clamp makes the last ones shorter:
    beyond the end of the loop they would be negative.
    """
    last = (trips - 1) * 17 - 10
    value = (fn.min(OUTER * 17, last) * 7 + 8) / 16 + 8 - OUTER * 7
    loops = (_loop(OUTER, _number(0), _number(trips)),)
    found = evaluate(Totals(Simplifier()).total(value, loops), {})
    assert found == sum(evaluate(value, {OUTER.name: i}) for i in range(trips))
    assert evaluate(Totals(Simplifier()).typical(value, loops), {}) >= 1


def test_a_period_ends_with_a_loop_of_any_length() -> None:
    """Every second value is 1; beyond the end they would be negative."""
    value = (OUTER + 1) / 2 - OUTER / 2 + fn.min(N - 1 - OUTER, 0)
    loops = (_loop(OUTER, _number(0), N),)
    total = Totals(Simplifier()).total(value, loops)
    assert [evaluate(total, {N.name: n}) for n in (1, 2, 7)] == [0, 1, 3]
