"""Whole numbers that are made from floats, as formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces import Float32, Float64, Func, ImageParam, Int32, Param, Var, cast, evaluate, pipeline
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Variable, constant
from spaces.model.formulas.algebra import ARRAYS, INTEGERS, read
from spaces.model.formulas.float_values import float_value, limits_of_floats
from spaces.model.formulas.interval import UNBOUNDED, Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier

TYPES = {"v": Float32, "p": Float32, "n": Int32}

MAKINGS: dict[str, Callable[[Expr, Expr, Expr], Expr]] = {
    "scaled": lambda v, p, n: cast(Int32, v * (1.0 / p) + 0.5),
    "divided": lambda v, p, n: cast(Int32, fn.floor((v - 3.0) / p)),
    "sized": lambda v, p, n: cast(Int32, fn.ceil(cast(Float32, n) / p) - v * 7.0),
    "chosen": lambda v, p, n: cast(Int32, fn.select(p > 0.5, fn.min(v, p), -v) * 9.0),
    "rounded": lambda v, p, n: cast(Int32, fn.round(v * p)) + cast(Int32, fn.trunc(p * 3.0)) * n,
    "doubled": lambda v, p, n: cast(Int32, fn.abs(cast(Float64, p)) * cast(Float64, n) - 0.1),
}


@pytest.mark.parametrize("name", MAKINGS)
def test_readings_have_the_bits_of_the_reference(name: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.choice([0.0, -0.0, 0.3, 1.0, -7.7, 3e9, -3e38, 3e38, np.inf, np.nan], (2, 300))
    v, p = np.where(rng.random((2, 300)) < 0.5, values, rng.normal(size=(2, 300))).astype("f4")
    n = rng.integers(-99, 99, 300).astype("i4")
    x = Var("x")
    a, b, c = ImageParam(Float32, 1, "v"), ImageParam(Float32, 1, "p"), ImageParam(Int32, 1, "n")
    f = Func("f")
    f[x] = MAKINGS[name](a[x], b[x], c[x])
    made, images = pipeline(f), {"v": v, "p": p, "n": n}
    given = {image.name: images[image.name] for image in made.images}
    wanted = evaluate(made, given, sizes={"f": [300]})["f"]
    formula = MAKINGS[name](*(Variable(t, k) for k, t in TYPES.items()))
    found = read(formula, {"v": v, "p": p, "n": n.astype(np.int64)}, ARRAYS)
    np.testing.assert_array_equal(np.asarray(found).astype(np.int32), wanted)
    for place in range(0, 300, 23):
        given = {"v": float(v[place]), "p": float(p[place]), "n": int(n[place])}
        assert np.int64(read(formula, given, INTEGERS)).astype(np.int32) == wanted[place]


def test_numbers_that_are_made_from_floats_do_not_wrap() -> None:
    """Coordinates stand for mathematical integers."""
    large = cast(Int32, Variable(Float32, "p") * 2.0)
    assert read(large * large * large, {"p": 2.0**29}, INTEGERS) == 2**90


@pytest.mark.parametrize("name", MAKINGS)
def test_intervals_hold_all_values(name: str) -> None:
    v, p, n = Variable(Float32, "v"), Param(Float32, "p"), Param(Int32, "n")
    formula = MAKINGS[name](v, p.as_expr(), n.as_expr())
    within = Interval(constant(0.25, Float32), constant(1.75, Float32))
    found = Ranges(Simplifier(), {"v": within}).of(formula)
    assert found.min is not None
    assert found.max is not None
    limits = limits_of_floats(found.min, found.max)
    rng = np.random.default_rng(5)
    samples = np.append(rng.uniform(0.25, 1.75, 60), [0.25, 1.75]).astype("f4")
    allowed = 0
    for scale in (*rng.normal(scale=3, size=20), 0.0, np.nan, np.inf, 1e-20, -1e30):
        call = {"p": float(np.float32(scale)), "n": int(rng.integers(-9, 9))}
        if not all(read(limit, call, INTEGERS) for limit in limits):
            continue
        allowed += 1
        low, high = (read(end, call, INTEGERS) for end in (found.min, found.max))
        values = [read(formula, {**call, "v": float(one)}, INTEGERS) for one in samples]
        assert low <= min(values)
        assert max(values) <= high
    assert 20 <= allowed <= 22  # 0 and infinity are no harm for some


@pytest.mark.parametrize("name", MAKINGS)
def test_floats_of_numbers_alone_are_numbers(name: str) -> None:
    """Sizes and parameters that are known leave no arithmetic behind, and regions keep limits."""
    v, within = Variable(Float32, "v"), Interval(constant(0.25, Float32), constant(1.75, Float32))
    samples = [float(one) for one in np.linspace(0.25, 1.75, 30, dtype="f4")]
    for p, n in ((0.3, 7), (-1.75, -4), (11.0 / 7, 99)):
        parts = constant(1.0, Float32) / constant(p, Float32), cast(Float32, constant(n, Int32)) / 3
        formula = MAKINGS[name](v, sum(parts[1:], parts[0]), constant(n, Int32))
        found = Ranges(Simplifier(), {"v": within}).of(formula)
        assert isinstance(found.min, Const)
        assert isinstance(found.max, Const)
        values = [read(formula, {"v": one}, INTEGERS) for one in samples]
        assert found.min.value <= min(values)
        assert max(values) <= found.max.value
        alone = MAKINGS[name](constant(0.75, Float32), *parts[:1], constant(n, Int32))
        number = Simplifier()(alone)
        assert isinstance(number, Const)
        assert number.value == read(alone, {}, INTEGERS)


def test_floats_that_may_overflow_have_no_limits() -> None:
    v, p = Variable(Float32, "v"), Param(Float32, "p").as_expr()
    inner, outer = Variable(Int32, "f.s0.x"), Variable(Int32, "f.s0.y")
    x, y = cast(Float32, inner), cast(Float32, outer)
    within = Interval(constant(0, Int32), outer)
    unit = Interval(constant(0.0, Float32), constant(1.0, Float32))
    ranges = Ranges(Simplifier(), {"v": unit, "f.s0.x": within})
    assert ranges.of(cast(Int32, x * 1e15)).is_bounded
    assert ranges.of(cast(Int32, x / p * 0.5)).is_bounded
    for formula in (x * 1e20 * 1e20, x * 1e18 / 1e-3, x * y, p / (v - 0.5), x / y, fn.exp(p) * v):
        assert ranges.of(cast(Int32, formula)) == UNBOUNDED


def test_numbers_limit_what_has_no_limits() -> None:
    """No formula has an exponential function, but what limits its values is a formula."""
    p = Param(Float32, "p").as_expr()
    found = Ranges(Simplifier(), {}).of(fn.clamp(cast(Int32, fn.exp(p)), 2, 9))
    assert found == Interval(constant(2, Int32), constant(9, Int32))


def test_only_arithmetic_of_floats_has_a_value() -> None:
    with pytest.raises(TypeError, match="`v` is no arithmetic of floats"):
        float_value(Variable(Float32, "v"), [])
