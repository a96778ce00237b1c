"""Normal forms of conditions on sizes are the same conditions."""

from __future__ import annotations

import operator
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.compile import compile_cpu
from spaces.backend.preconditions import SizeError
from spaces.constraints.devices.device import device
from spaces.constraints.examples import algorithms
from spaces.constraints.legality.preconditions import size_preconditions
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.sizes.forms import AtLeastZero, Divisible, Forms
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable, cast, compare, constant
from spaces.model.expressions.types import Bool, Int32, UInt8
from spaces.model.formulas.algebra import evaluate
from tests.draw_counts import examples

PIPELINE = algorithms.blur()
WIDTH, HEIGHT = Variable(Int32, "by.extent.0"), Variable(Int32, "by.extent.1")
LEFT, WIDE = Variable(Int32, "by.min.0"), Variable(Int32, "input.extent.0")
SIZES = (WIDTH, HEIGHT, LEFT, WIDE)


def _grow(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(parts, parts)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: fn.min(*p)),
        pairs.map(lambda p: fn.max(*p)),
        st.tuples(parts, st.integers(1, 9)).map(lambda p: p[0] / p[1]),
        st.tuples(parts, st.integers(1, 9)).map(lambda p: (p[0] + p[1] - 1) / p[1] * p[1]),
        st.tuples(parts, st.integers(-3, 3)).map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: p[0] * p[1]),
    )


sums = st.recursive(
    st.one_of(st.sampled_from(SIZES), st.integers(-9, 9).map(lambda n: constant(n, Int32))),
    _grow,
    max_leaves=5,
)
comparisons = st.tuples(st.sampled_from(["le", "lt", "ge", "gt", "eq", "ne"]), sums, sums).map(
    lambda c: compare(*c)
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(comparisons, min_size=1, max_size=3), st.data())
def test_parts_hold_together_where_the_conditions_do(conditions: list[Expr], data) -> None:
    forms = Forms(PIPELINE)
    parts = tuple(dict.fromkeys(p for c in conditions for p in forms.parts(c)))
    exact = [p for p in parts if isinstance(p, Divisible) and p.most == 0]
    simple = tuple(dict.fromkeys(q for p in parts for q in forms.given(p, exact)))
    kept = forms.irredundant(simple)
    for _ in range(12):
        values = {v.name: data.draw(st.integers(1, 20)) for v in (WIDTH, HEIGHT, WIDE)}
        values[LEFT.name] = data.draw(st.integers(-12, 12))
        expected = all(evaluate(c, values) for c in conditions)
        assert all(evaluate(forms.expr(p), values) for p in kept) == expected


LIMITS = st.sampled_from([Int32.max_value, Int32.min_value]).flatmap(
    lambda n: st.integers(0, 3).map(lambda d: constant(n - d if n > 0 else n + d, Int32))
)


@st.composite
def places(draw: st.DrawFn) -> dict[str, int]:
    """Positions of an output along its first dimension, also at the ends of int32."""
    near = st.integers(-9, 9)
    ends = st.one_of(near.map(lambda n: Int32.max_value - abs(n)), near)
    low = draw(st.one_of(ends, near.map(lambda n: Int32.min_value + abs(n))))
    last = draw(st.one_of(ends, near.map(lambda n: low + abs(n))))
    extent = min(max(last - low + 1, 1), Int32.max_value, Int32.max_value - low + 1)
    return {LEFT.name: low, WIDTH.name: extent}


@settings(max_examples=examples(150), deadline=None)
@given(
    *(st.integers(-2, 2), st.integers(-2, 2), st.integers(-4, 4)),
    *(st.sampled_from(["le", "lt", "ge", "gt"]), LIMITS, st.lists(places(), min_size=8)),
)
def test_numbers_beyond_int32_are_not_wrapped(
    a: int, b: int, offset: int, name: str, limit: Expr, values: list[dict[str, int]]
) -> None:
    forms = Forms(PIPELINE)
    condition = compare(name, WIDTH * a + LEFT * b + offset, limit)
    parts = [forms.expr(part) for part in forms.parts(condition)]
    for sizes in values:
        assert all(evaluate(part, sizes) for part in parts) == evaluate(condition, sizes)


def test_what_holds_within_int32_is_no_condition() -> None:
    most = constant(Int32.max_value, Int32)
    assert only(WIDTH + LEFT - 1 <= most) == []
    assert only(WIDTH + LEFT - 2 <= most) == []
    assert only(WIDTH + LEFT <= most) == ["by.extent.0 + by.min.0 <= 2147483647"]
    assert only(HEIGHT + LEFT - 1 <= most) == ["by.extent.1 + by.min.0 <= 2147483647 + 1"]


def only(condition: Expr) -> list[str]:
    forms = Forms(PIPELINE)
    return [str(forms.expr(part)) for part in forms.parts(condition)]


def test_quotients_minima_and_remainders_are_cleared() -> None:
    assert only((WIDTH + 7) / 8 <= 5) == ["by.extent.0 <= 40"]
    assert only((WIDTH + 7) / 8 >= 5) == ["by.extent.0 >= 33"]
    assert only((WIDTH + 7) / 8 * 8 <= WIDTH) == ["by.extent.0 % 8 == 0"]
    assert only(fn.min(WIDTH, HEIGHT) >= 3) == ["by.extent.0 >= 3", "by.extent.1 >= 3"]
    assert only(fn.max(WIDTH, 4) <= 6) == ["by.extent.0 <= 6"]
    assert only(WIDTH * 4 >= 9) == ["by.extent.0 >= 3"]
    assert only(WIDTH >= 1) == []


def test_products_of_extremes_stay_whole() -> None:
    product = fn.max(WIDTH, HEIGHT) * fn.max(HEIGHT, WIDE)
    sum = fn.min(LEFT, WIDE) + fn.min(LEFT, HEIGHT) + fn.min(LEFT, WIDTH)
    assert len(only(sum >= 99)) == 8
    assert len(only(product + sum >= 99)) == 1


def test_what_follows_from_a_multiple_is_left_out() -> None:
    forms = Forms(PIPELINE)

    def multiple(of: int) -> Expr:
        return (WIDTH + of - 1) / of * of <= WIDTH

    def kept(*conditions: Expr) -> list[str]:
        parts = tuple(part for c in conditions for part in forms.parts(c))
        return [str(forms.expr(part)) for part in forms.irredundant(parts)]

    assert kept(multiple(8), multiple(16), WIDTH >= 16) == ["by.extent.0 % 16 == 0"]
    assert kept(multiple(8), multiple(12)) == ["by.extent.0 % 8 == 0", "by.extent.0 % 12 == 0"]
    assert kept(multiple(8), WIDTH >= 9) == ["by.extent.0 % 8 == 0", "by.extent.0 >= 9"]


def test_what_holds_for_all_sizes_has_no_parts() -> None:
    assert only(constant(True, Bool)) == []


def test_sums_of_many_extremes_stay_whole() -> None:
    """Each of them twice over would leave 2**12 parts."""
    smaller = [fn.min(WIDTH + n, HEIGHT * (n + 2)) for n in range(12)]
    assert len(only(reduce(operator.add, smaller[:4]) >= 999)) == 2**4
    forms = Forms(PIPELINE)
    (whole,) = map(forms.expr, forms.parts(reduce(operator.add, smaller) >= 999))
    for width, height in ((1, 1), (80, 2), (3, 70), (100, 100), (78, 30), (77, 60)):
        values = {WIDTH.name: width, HEIGHT.name: height}
        numbers = [min(width + n, height * (n + 2)) for n in range(12)]
        assert evaluate(whole, values) == (sum(numbers) >= 999)


def test_a_schedule_whose_sizes_are_sums_of_extremes_asks_for_few_conditions() -> None:
    x, out = Var("x"), Func("out")
    images = [ImageParam(UInt8, 1, f"i{n}") for n in range(12)]
    table = ImageParam(UInt8, 1, "table")
    larger = (fn.max(i.dim(0).extent(), j.dim(0).extent() + 1) for i, j in pairwise(images))
    values = (cast(UInt8, i[0]) for i in images)
    out[x] = table[reduce(operator.add, larger, x)] + reduce(operator.add, values)
    algorithm = pipeline(out)
    checked = verify(algorithm, schedule(algorithm).schedule, device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    asked = size_preconditions(checked)
    assert len(asked) < 40
    run = compile_cpu(checked).run
    given = {f"i{n}": np.full(2, n, np.uint8) for n in range(12)}  # 11 times 3 is added to x
    data = np.arange(43, dtype=np.uint8)
    found = run({**given, "table": data}, sizes={"out": (10,)})["out"]
    assert found.tolist() == [33 + x + sum(range(12)) for x in range(10)]
    with pytest.raises(SizeError, match="table"):
        run({**given, "table": data[:-1]}, sizes={"out": (10,)})


def test_parts_of_a_long_chain_are_not_counted_to_the_end() -> None:
    """Each link has twice the cases of the one before, so their product gets ever more digits."""
    chain: Expr = WIDTH
    for _ in range(40):
        chain = fn.max(chain / 2 * 2, LEFT) - fn.min(chain / 2 * 3, WIDE)
    forms = Forms(PIPELINE)
    (whole,) = forms.parts(compare("ge", chain, constant(0, Int32)))
    assert isinstance(whole, AtLeastZero)
    assert max(forms._counts.values()) < 1000
