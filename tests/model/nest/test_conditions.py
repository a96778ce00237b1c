"""What stages read where conditions of their reduction domains hold, against every iteration."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces import Func, ImageParam, Int32, Pipeline, RDom, Var, device, pipeline, prove, verify
from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.algorithm.rdom import RVar
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.nest.bounds import Bounds
from spaces.model.writing.text import parse_schedule

X = Var("x")

Sum = tuple[int, int, int, int]
"""The factors of x, r.x and r.y, and a number."""

sums = st.tuples(*[st.integers(-2, 2)] * 3, st.integers(-4, 8))


def _sum(factors: Sum, x: Expr, rx: Expr, ry: Expr) -> Expr:
    return x * factors[0] + rx * factors[1] + ry * factors[2] + factors[3]


def reading(place: Sum, conditions: list[Sum], *, through: bool = False) -> Pipeline:
    """Sums of what lies at ``place``, where no condition is negative; of a Func or an image."""
    image, g, f = ImageParam(Int32, 1, "image"), Func("g"), Func("f")
    r = RDom([(0, 5), (-1, 4)], "r")
    for condition in conditions:
        r.where(_sum(condition, X, r.x, r.y) >= 0)
    g[X] = image[X] * 2
    f[X] = 0
    at = _sum(place, X, r.x, r.y)
    f[X] += g[at] if through else image[at]
    return pipeline(f)


def places(place: Sum, conditions: list[Sum], x: int) -> list[int]:
    def value(sum: Sum, rx: int, ry: int) -> int:
        return sum[0] * x + sum[1] * rx + sum[2] * ry + sum[3]

    return [
        value(place, rx, ry)
        for rx, ry in itertools.product(range(5), range(-1, 3))
        if all(value(condition, rx, ry) >= 0 for condition in conditions)
    ]


@given(sums, st.lists(sums, max_size=3), st.integers(1, 6), st.integers(-3, 3))
def test_all_that_is_read_is_required_and_no_more_than_without_conditions(
    place: Sum, conditions: list[Sum], width: int, first: int
):
    sizes = {"f.min.0": first, "f.extent.0": width}
    ends = []
    for conditions_used in (conditions, []):
        made = reading(place, conditions_used)
        (interval,) = Bounds(made, parse_schedule("", made)).inputs["image"]
        assert interval.min is not None
        assert interval.max is not None
        ends.append((number(interval.min, sizes), number(interval.max, sizes)))
    (low, high), (least, most) = ends
    assert least <= low <= high <= most
    for x in range(first, first + width):
        assert all(low <= at <= high for at in places(place, conditions, x))


@given(sums, st.lists(sums, max_size=2))
def test_one_iteration_requires_all_that_it_reads(place: Sum, conditions: list[Sum]):
    made = reading(place, conditions, through=True)
    bounds = Bounds(made, parse_schedule("g.compute_at(f, x)", made))
    (interval,) = bounds.placements["g"].required
    assert interval.min is not None
    assert interval.max is not None
    for x in range(-2, 4):
        at = {"f.s1.x": x}
        low, high = number(interval.min, at), number(interval.max, at)
        assert low <= high
        assert all(low <= read <= high for read in places(place, conditions, x))


def triangle() -> Pipeline:
    image, f = ImageParam(Int32, 1, "image"), Func("f")
    d = RDom([(0, 8)], "d")
    d.where(d.x <= X)
    f[X] = 0
    f[X] += image[X - d.x]
    return pipeline(f)


def simplex(holds: Callable[[RVar, RVar], Expr], step: int = 1) -> Pipeline:
    image, f = ImageParam(Int32, 1, "image"), Func("f")
    d = RDom([(0, 8), (0, 8)], "d")
    d.where(holds(d.x, d.y))
    f[X] = 0
    f[X] += image[d.x * step + d.y * step]
    return pipeline(f)


CONDITIONS = [
    lambda x, y: x + y < 8,
    lambda x, y: x <= 7 - y,
    lambda x, y: ~(x + y >= 8),
    lambda x, y: (x + y < 8) & (x >= 0),
    lambda x, y: 2 * x + 2 * y <= 15,
]


@pytest.mark.parametrize(
    ("made", "size"),
    [
        (triangle(), 10),
        *((simplex(holds), 8) for holds in CONDITIONS),
        (simplex(lambda x, y: x + y < 8, 2), 15),
    ],
)
def test_an_image_may_end_where_the_condition_does(made: Pipeline, size: int):
    checked = verify(made, parse_schedule("", made), device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    report = prove(checked)
    assert len(report.proven) == len(report.proofs)
    image, sizes = np.arange(size, dtype=np.int32) ** 2, {"f": (10,)}
    found = compile_cpu_unchecked(made, checked.schedule).run({"image": image}, sizes=sizes)["f"]
    np.testing.assert_array_equal(found, evaluate(made, {"image": image}, sizes=sizes)["f"])
    with pytest.raises(SizeError, match="image"):
        compile_cpu_unchecked(made, checked.schedule).run({"image": image[:-1]}, sizes=sizes)


def test_a_scatter_writes_only_where_its_condition_holds():
    g, f = Func("g"), Func("f")
    d = RDom([(0, 8), (0, 8)], "d")
    d.where(d.x + d.y < 8)
    g[X] = 0
    g[d.x + d.y] += 1
    f[X] = g[X]
    made = pipeline(f)
    (interval,) = Bounds(made, parse_schedule("g.compute_root()", made)).placements["g"].required
    sizes = {"f.min.0": 0, "f.extent.0": 3}
    assert [number(e, sizes) for e in (interval.min, interval.max) if e is not None] == [0, 7]


def test_a_condition_without_limits_is_named():
    made = simplex(lambda x, y: x * x + y * y < 30)
    compiled = compile_cpu_unchecked(made, parse_schedule("", made))
    named = r"f\.update\(0\) reads image only where `d\.x \* d\.x \+ d\.y \* d\.y < 30`, but no"
    with pytest.raises(SizeError, match=named):
        compiled.run({"image": np.arange(8, dtype=np.int32)}, sizes={"f": (10,)})
