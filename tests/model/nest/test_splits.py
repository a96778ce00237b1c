"""Splits of loops whose numbers are known, and of loops whose numbers are open."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spaces import DomainOrder, Expr, Func, Int32, OrderedLoop, Split, Tail, Var, pipeline
from spaces.model.expressions.expr import Variable, constant
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.splits import automatic_tails, divide, resolved_tails
from spaces.model.schedules.domain_order import Factor

SIZE = Variable(Int32, "g.extent.0")
COUNT = Variable(Int32, "count")
TILE = Variable(Int32, "t")


def dropped(extent: Expr, factor: Factor, *, again: bool = True) -> Expr | None:
    """Where the guard of a split is dropped; its outer loop is split ``again`` or not."""
    x, f = Var("x"), Func("f")
    f[x] = x
    (stage,) = pipeline(f).function("f").stages
    splits = [Split("x", "xo", "xi", factor, Tail.GUARD_WITH_IF)]
    names = ["xo", "xi"]
    if again:
        splits.append(Split("xo", "xoo", "xoi", 3, Tail.ROUND_UP))
        names = ["xoo", "xoi", "xi"]
    order = DomainOrder(tuple(splits), tuple(OrderedLoop(name) for name in names))
    box = {"x": Interval(constant(0, Int32), extent - 1)}
    return divide("f", stage, order, False, box, Simplifier(), {"a", "t"}).steps[0].dropped


@pytest.mark.parametrize(
    ("extent", "where"),
    [
        (constant(12, Int32), {1, 2, 3, 4, 6}),
        (SIZE, {1}),  # whatever the size is in a run
        (2 * SIZE + 2, {1, 2, 4}),  # a run knows of 4; 2 always divides it
        (TILE + 4, {1, 2, 3, 4, 6}),  # 12
        (COUNT, {1}),  # a scalar parameter has its value in a run
    ],
    ids=str,
)
def test_a_tail_is_dropped_where_its_factor_divides(extent: Expr, where: set[int]) -> None:
    condition = dropped(extent, "a")
    assert condition is not None
    sizes = {SIZE.name: 1, COUNT.name: 12, TILE.name: 8}
    found = {a for a in range(1, 8) if evaluate(condition, {**sizes, "a": a})}
    assert found == where


def test_a_tail_that_nothing_goes_beyond_matters_not() -> None:
    assert dropped(constant(12, Int32), "a", again=False) is None


@pytest.mark.parametrize("extent", [constant(13, Int32), SIZE, 2 * SIZE + 2, COUNT], ids=str)
def test_numbers_have_decided_what_is_dropped(extent: Expr) -> None:
    """In the code of a schedule, sizes and scalars that a factor divides change no tail."""
    assert dropped(extent, 4) is None


def test_a_split_of_a_part_is_of_no_whole_dimension() -> None:
    """Guards of a dimension keep reads in; those of a part of it say nothing of the rest."""
    x, f = Var("x"), Func("f")
    f[x] = x
    (stage,) = pipeline(f).function("f").stages
    splits = (Split("x", "xo", "xi", 8), Split("xo", "xoo", "xoi", 3), Split("xi", "a", "b", 2))
    order = DomainOrder(splits, tuple(OrderedLoop(name) for name in ("xoo", "xoi", "a", "b")))
    box = {"x": Interval(constant(0, Int32), SIZE - 1)}
    steps = divide("f", stage, order, False, box, Simplifier()).steps
    assert [step.dimension for step in steps] == ["x", "", ""]


@pytest.mark.parametrize(
    ("first", "second", "tail"),
    [
        (8, 8, Tail.ROUND_UP),
        (8, 3, Tail.ROUND_UP),
        (8, 9, Tail.SHIFT_INWARDS),
        ("a", "a", Tail.ROUND_UP),
        ("a", 8, Tail.SHIFT_INWARDS),  # the one may be the less
        (8, "a", Tail.SHIFT_INWARDS),
    ],
)
def test_a_loop_is_covered_by_an_earlier_split_of_at_least_the_factor(
    first: Factor, second: Factor, tail: Tail
) -> None:
    x, f = Var("x"), Func("f")
    f[x] = x
    (stage,) = pipeline(f).function("f").stages
    splits = (Split("x", "xo", "xi", first), Split("xo", "xoo", "xoi", second))
    order = DomainOrder(splits, tuple(OrderedLoop(name) for name in ("xoo", "xoi", "xi")))
    assert resolved_tails(stage, order, False) == (Tail.SHIFT_INWARDS, tail)


_TAILS = st.sampled_from((Tail.SHIFT_INWARDS, Tail.ROUND_UP, Tail.GUARD_WITH_IF, Tail.AUTO))


@given(
    splits=st.lists(st.tuples(st.booleans(), st.integers(1, 8), _TAILS), min_size=1, max_size=6),
    is_update=st.booleans(),
)
def test_each_split_knows_the_tail_that_it_would_have(
    splits: list[tuple[bool, int, Tail]], is_update: bool
) -> None:
    """It is what the split gets when it alone is made automatic."""
    x, f = Var("x"), Func("f")
    f[x] = x
    (stage,) = pipeline(f).function("f").stages
    loops, made = ["x"], []
    for number, (takes_inner, factor, tail) in enumerate(splits):
        old = loops.pop(-1 if takes_inner else 0)
        loops += [f"o{number}", f"i{number}"]
        made.append(Split(old, f"o{number}", f"i{number}", factor, tail))
    order = DomainOrder(tuple(made), tuple(map(OrderedLoop, loops)))
    found = automatic_tails(stage, order, is_update)
    for place, split in enumerate(made):
        alone = [*made[:place], evolve(split, tail=Tail.AUTO), *made[place + 1 :]]
        resolved = resolved_tails(stage, evolve(order, splits=tuple(alone)), is_update)
        assert found[place] is resolved[place]
