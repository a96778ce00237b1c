"""Interval analysis against z3, which infers bounds exactly [TOY]."""

from __future__ import annotations

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.model import functions as fn
from spaces.model.algebra import evaluate
from spaces.model.expr import Call, Cast, Expr, Variable, cast, constant
from spaces.model.regions import Interval, Ranges
from spaces.model.simplify import Simplifier
from spaces.model.smt import condition, term
from spaces.model.types import Float32, Int32, UInt8

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


def intervals(expr: Expr, box: tuple[int, ...]) -> tuple[int, int]:
    """The bounds that interval analysis gives while x and y range over the box, at w."""
    x0, xn, y0, yn, w = box
    ranges = {
        "x": Interval(constant(x0, Int32), constant(x0 + xn, Int32)),
        "y": Interval(constant(y0, Int32), constant(y0 + yn, Int32)),
    }
    found = Ranges(Simplifier(), ranges).of(expr)
    assert found.min is not None
    assert found.max is not None
    return evaluate(found.min, {"w": w}), evaluate(found.max, {"w": w})


def exact(expr: Expr, box: tuple[int, ...]) -> tuple[int, int]:
    """z3's smallest and largest value of the coordinate over the box."""
    x0, xn, y0, yn, w = box
    names = {n: z3.Int(n) for n in "xyw"}
    limits = [
        condition(c, names)
        for c in (X >= x0, X <= x0 + xn, Y >= y0, Y <= y0 + yn, fn.min(W, W) <= w, W >= w)
    ]
    ends = []
    for direction in ("minimize", "maximize"):
        solver = z3.Optimize()
        solver.add(*limits)
        goal = getattr(solver, direction)(term(expr, names))
        assert solver.check() == z3.sat
        ends.append(goal.value().as_long())
    return ends[0], ends[1]


@settings(max_examples=40)
@given(affine(), BOX)
def test_affine_coordinates_have_exact_bounds(expr: Expr, box: tuple[int, ...]) -> None:
    assert intervals(expr, box) == exact(expr, box)


@settings(max_examples=40)
@given(coordinates(), BOX)
def test_other_coordinates_lie_inside_their_bounds(expr: Expr, box: tuple[int, ...]) -> None:
    low, high = intervals(expr, box)
    least, most = exact(expr, box)
    assert low <= least
    assert most <= high


def test_the_example_of_the_toy_paper() -> None:
    """f reads g at (x, y) and (x + 1, y + 1); over 512 x 512 that is 513 x 513 of g [TOY]."""
    box = (1, 511, 1, 511, 0)
    lows, highs = zip(*(intervals(e, box) for e in (X, X + 1)), strict=True)
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


def test_an_unlimited_value_is_unbounded() -> None:
    found = Ranges(Simplifier(), {}).of(Call(Int32, "image", (X, Y)))
    assert not found.is_bounded
