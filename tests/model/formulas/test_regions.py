"""Interval analysis against z3, which infers bounds exactly [TOY]."""

from __future__ import annotations

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Cast, Expr, Variable, cast, constant
from spaces.model.expressions.types import Float32, Int32, Int64, UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.formulas.smt import condition, term
from tests.draw_counts import examples

X, Y, W = Variable(Int32, "x"), Variable(Int32, "y"), Variable(Int32, "w")


@st.composite
def affine(draw: st.DrawFn) -> Expr:
    a, b, c = (draw(st.integers(-4, 4)) for _ in range(3))
    return X * a + Y * b + W + c


@st.composite
def coordinates(draw: st.DrawFn) -> Expr:
    base = draw(affine())
    form = draw(st.sampled_from(["div", "mod", "clamp", "select", "min", "abs"]))
    k = draw(st.integers(1, 5))
    if form == "div":
        return base / k
    if form == "mod":
        return base % k
    if form == "clamp":
        return fn.clamp(base, -k, k * 2)
    if form == "select":
        return fn.select(X < k, base, Y)
    if form == "min":
        return fn.min(base, Y * k)
    return cast(Int32, fn.abs(base))


BOX = st.tuples(
    st.integers(-8, 8), st.integers(0, 8), st.integers(-8, 8), st.integers(0, 8), st.integers(0, 9)
)


def bounds(expr: Expr, box: tuple[int, ...]) -> tuple[int | None, int | None]:
    """The bounds by interval analysis while x and y range over the box and w is fixed."""
    x0, xn, y0, yn, w = box
    ranges = {
        "x": Interval(constant(x0, Int32), constant(x0 + xn, Int32)),
        "y": Interval(constant(y0, Int32), constant(y0 + yn, Int32)),
    }
    found = Ranges(Simplifier(), ranges).of(expr)
    low = None if found.min is None else evaluate(found.min, {"w": w})
    return low, None if found.max is None else evaluate(found.max, {"w": w})


def exact(expr: Expr, box: tuple[int, ...]) -> tuple[int, int]:
    """z3's smallest and largest value of the coordinate over the box."""
    x0, xn, y0, yn, w = box
    names = {n: z3.Int(n) for n in "xyw"}
    limits = [
        condition(c, names, z3.main_ctx())
        for c in (X >= x0, X <= x0 + xn, Y >= y0, Y <= y0 + yn, fn.min(W, W) <= w, W >= w)
    ]
    ends = []
    for direction in ("minimize", "maximize"):
        solver = z3.Optimize()
        solver.add(*limits)
        goal = getattr(solver, direction)(term(expr, names, z3.main_ctx()))
        assert solver.check() == z3.sat
        ends.append(goal.value().as_long())
    return ends[0], ends[1]


@settings(max_examples=examples(40))
@given(affine(), BOX)
def test_affine_coordinates_have_exact_bounds(expr: Expr, box: tuple[int, ...]) -> None:
    assert bounds(expr, box) == exact(expr, box)


@settings(max_examples=examples(40))
@given(coordinates(), BOX)
def test_other_coordinates_lie_inside_their_bounds(expr: Expr, box: tuple[int, ...]) -> None:
    low, high = bounds(expr, box)
    least, most = exact(expr, box)
    assert low <= least
    assert most <= high


EXPRESSIONS = st.recursive(
    st.sampled_from([X, Y, W]) | st.integers(-4, 4).map(lambda n: constant(n, Int32)),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, b: a / b, inner, inner),
        st.builds(lambda a, b: a % b, inner, inner),
        st.builds(fn.min, inner, inner),
        st.builds(fn.max, inner, inner),
        st.builds(lambda a, b, c: fn.select(a < b, b, c), inner, inner, inner),
        st.builds(lambda a: cast(Int32, fn.abs(a)), inner),
        st.builds(lambda a: cast(Int32, cast(UInt8, a)), inner),
    ),
    max_leaves=5,
)


@settings(max_examples=examples(600))
@given(EXPRESSIONS, BOX)
def test_every_value_in_the_box_lies_inside_the_bounds(expr: Expr, box: tuple[int, ...]) -> None:
    x0, xn, y0, yn, w = box
    low, high = bounds(expr, box)
    for x in range(x0, x0 + xn + 1):
        for y in range(y0, y0 + yn + 1):
            value = evaluate(expr, {"x": x, "y": y, "w": w})
            assert low is None or low <= value
            assert high is None or value <= high


@settings(max_examples=examples(300))
@given(EXPRESSIONS, BOX, st.sampled_from(["neither", "below", "above"]))
def test_one_end_alone_lies_beyond_every_value(expr: Expr, box: tuple[int, ...], side: str) -> None:
    """The same holds if x has no limit on one side; the test tries some values there."""
    x0, xn, y0, yn, w = box
    first = x0 - 40 if side == "below" else x0
    last = x0 + xn + 40 if side == "above" else x0 + xn
    ranges = {
        "x": Interval(
            None if side == "below" else constant(x0, Int32),
            None if side == "above" else constant(x0 + xn, Int32),
        ),
        "y": Interval(constant(y0, Int32), constant(y0 + yn, Int32)),
    }
    low, high = Ranges(Simplifier(), ranges).least(expr), Ranges(Simplifier(), ranges).most(expr)
    for x in (first, x0, x0 + xn, last):
        for y in range(y0, y0 + yn + 1):
            value = evaluate(expr, {"x": x, "y": y, "w": w})
            assert low is None or evaluate(low, {"w": w}) <= value
            assert high is None or value <= evaluate(high, {"w": w})


def test_both_ends_of_a_minimum_need_their_operands() -> None:
    ranges = {"x": Interval(None, constant(9, Int32)), "y": Interval(constant(2, Int32), None)}
    analysis = Ranges(Simplifier(), ranges)
    assert analysis.least(fn.min(X, Y) + 1) is None
    assert str(analysis.most(fn.min(X, Y) + 1)) == "10"
    assert str(analysis.least(fn.max(X, Y) + 1)) == "3"
    assert analysis.most(fn.max(X, Y) + 1) is None


def test_clamps_limit_one_side_of_an_unlimited_value() -> None:
    anything = Call(Int32, "image", (X, Y))
    analysis = Ranges(Simplifier(), {})
    raised, lowered = analysis.of(fn.max(anything, 3)), analysis.of(fn.min(anything, 3))
    assert (str(raised.min), raised.max) == ("3", None)
    assert (lowered.min, str(lowered.max)) == (None, "3")


def test_casts_to_types_that_do_not_hold_all_values_wrap() -> None:
    ranges = {"x": Interval(constant(200, Int32), constant(300, Int32))}
    narrow = Ranges(Simplifier(), ranges).of(cast(UInt8, X))
    assert (str(narrow.min), str(narrow.max)) == ("0", "255")
    large = fn.select(X < 250, constant(2**31 + 7, Int64), constant(0, Int64))
    assert not Ranges(Simplifier(), ranges).of(cast(Int32, large)).is_bounded


def test_the_example_of_the_toy_paper() -> None:
    """f reads g at (x, y) and (x + 1, y + 1); over 512 x 512 it needs 513 x 513 of g [TOY]."""
    box = (1, 511, 1, 511, 0)
    lows, highs = zip(*(bounds(e, box) for e in (X, X + 1)), strict=True)
    assert max(highs) - min(lows) + 1 == 513


def test_narrow_values_are_limited_by_their_type() -> None:
    pixel = Call(UInt8, "image", (X, Y))
    found = Ranges(Simplifier(), {}).of(Cast(Int32, pixel))
    assert (str(found.min), str(found.max)) == ("0", "255")


def test_narrow_arithmetic_may_wrap_so_its_type_limits_it() -> None:
    pixel = Call(UInt8, "image", (X, Y))
    found = Ranges(Simplifier(), {}).of(Cast(Int32, pixel + pixel))
    assert (str(found.min), str(found.max)) == ("0", "255")


def test_a_clamped_float_is_limited() -> None:
    level = cast(Int32, fn.clamp(Call(Float32, "image", (X, Y)) * 255.0, 0.0, 255.0))
    found = Ranges(Simplifier(), {}).of(level)
    assert (str(found.min), str(found.max)) == ("0", "255")


def test_floats_that_are_turned_round_are_limited() -> None:
    level = fn.clamp(Call(Float32, "image", (X, Y)), 1.0, 4.0)
    analysis = Ranges(Simplifier(), {})
    for expr, ends in ((10.0 - level, ("6", "9")), (level * -2.0, ("-8", "-2"))):
        found = analysis.of(cast(Int32, fn.clamp(expr, -100.0, 100.0)))
        assert (str(found.min), str(found.max)) == ends


def test_operands_with_the_same_limits_are_combined() -> None:
    """They may have different values: two values from 1 to 4 add up to 2 to 8."""
    first, second = (fn.clamp(Call(Float32, "image", (at, Y)), 1.0, 4.0) for at in (X, X + 1))
    inverse = fn.clamp(Call(Float32, "image", (Y, X)), -4.0, 1.0)
    analysis = Ranges(Simplifier(), {})
    cases = {
        first + second: ("2", "8"),
        first - second: ("-3", "3"),
        first + inverse: ("-3", "5"),
        first * 4.0: ("4", "16"),
    }
    for expr, ends in cases.items():
        found = analysis.of(cast(Int32, fn.clamp(expr, -100.0, 100.0)))
        assert (str(found.min), str(found.max)) == ends


def test_an_unlimited_value_is_unbounded() -> None:
    found = Ranges(Simplifier(), {}).of(Call(Int32, "image", (X, Y)))
    assert not found.is_bounded


def test_an_end_beyond_int32_limits_nothing() -> None:
    box = {"x": Interval(constant(-(2**30), Int32), constant(2**30, Int32))}
    for expr, least, most in (
        (X * 4 + 1, None, None),
        (X + 2**30, 0, None),
        (X - 2**29, -(2**30) - 2**29, 2**29),
    ):
        ranges = Ranges(Simplifier(), box)
        ends = [None if end is None else constant(end, Int32) for end in (least, most)]
        assert [ranges.least(expr), ranges.most(expr)] == ends
        assert Ranges(Simplifier(), box).of(expr) == Interval(*ends)
