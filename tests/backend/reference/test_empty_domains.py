"""The reference evaluates every legal pipeline, also with domains without points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import Bool, Int32, Int64, UInt8
from tests.backend.reference.point_by_point import PointByPoint
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
IMAGE = ImageParam(Int32, 1, "im")
PIXELS = np.random.default_rng(8).integers(-9, 9, 16).astype(np.int32)
COUNT = Param(Int32, "count")


def of_one_point_left_out() -> Func:
    a, b, f, r = Func("a"), Func("b"), Func("f"), RDom([(-1, 1)], "r")
    b[X] = IMAGE[X]
    a[X] = X * 2
    r.where(r.x % 2 == 0)
    f[X] = 0
    f[X] += a[fn.clamp(b[X], 0, 5)] * r.x
    return f


def of_no_extent() -> Func:
    a, b, c, f, r = Func("a"), Func("b"), Func("c"), Func("f"), RDom([(0, COUNT)], "r")
    c[X] = IMAGE[fn.clamp(X, 0, 15)]
    b[X] = c[fn.clamp(c[X], 0, 5)]
    a[X] = X * 2
    f[X] = 1
    f[X] += a[fn.clamp(b[fn.clamp(c[r.x], 0, 3)], 0, 5)] * r.x
    return f


def of_places_that_are_read() -> Func:
    b, f, r = Func("b"), Func("f"), RDom([(0, 4), (0, COUNT)], "r")
    b[X] = IMAGE[fn.clamp(X, 0, 15)]
    f[X] = X
    f[fn.clamp(b[fn.clamp(b[r.x], 0, 7)], 0, 3)] = b[r.y]
    return f


def without_dimensions() -> Func:
    total, twice, f, r = Func("total"), Func("twice"), Func("f"), RDom([(0, COUNT)], "r")
    total[()] = 3
    total[()] += IMAGE[fn.clamp(r.x, 0, 15)]
    twice[()] = total[()] * 2
    f[()] = twice[()] - 1
    return f


def of_a_condition_on_data() -> Func:
    a, f, r = Func("a"), Func("f"), RDom([(0, 5)], "r")
    a[X] = IMAGE[fn.clamp(X, 0, 15)] * 3
    r.where(a[fn.clamp(a[r.x], 0, 9)] > 1000)
    f[X] = (X, X + 1)
    f[a[fn.clamp(a[r.x], 0, 9)] % 4] = (a[r.x], f[a[r.x] % 4][1] + 1)
    return f


def of_nothing_that_is_undefined() -> Func:
    a, f, r = Func("a"), Func("f"), RDom([(2, COUNT)], "r")
    a[X] = IMAGE[fn.clamp(X, 0, 15)]
    f[X] = 7
    f[r.x] = fn.select(a[fn.clamp(a[r.x], 0, 5)] > 2, a[r.x], undef(Int32))
    return f


HOLES: list[Callable[[], Func]] = [
    of_one_point_left_out,
    of_no_extent,
    of_places_that_are_read,
    without_dimensions,
    of_a_condition_on_data,
    of_nothing_that_is_undefined,
]


def assert_evaluated(algorithm: Pipeline, extents: dict[str, list[int]], count: int) -> None:
    """Asserts that the reference, compiled code and the point-by-point evaluation agree."""
    scalars = {"count": count} if algorithm.scalars else {}
    inputs = {i.name: PIXELS for i in algorithm.images}
    verdict = verify(algorithm, schedule(algorithm).schedule, device("cpu"))
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    ranges = {name: tuple((0, e) for e in extent) for name, extent in extents.items()}
    expected = PointByPoint(algorithm, inputs, scalars).outputs(ranges)
    reference = evaluate(algorithm, inputs, scalars, extents)
    for name, values in expected.items():
        np.testing.assert_array_equal(reference[name], values, strict=True)
    compiled = compile_cpu(verdict).run(inputs, scalars, sizes=extents)
    for name, values in expected.items():
        np.testing.assert_array_equal(compiled[name], values, strict=True)


@pytest.mark.parametrize("count", [-2, 0, 3])
@pytest.mark.parametrize("made", HOLES)
def test_domains_without_points(made: Callable[[], Func], count: int) -> None:
    algorithm = pipeline(made())
    dimensions = len(algorithm.functions[-1].args)
    assert_evaluated(algorithm, {"f": [6] * dimensions}, count)


TYPES = (Bool, UInt8, Int32, Int64)


@st.composite
def algorithms(draw: st.DrawFn) -> Pipeline:
    """Chains of Funcs of 0 to 2 dimensions; their updates may have empty domains."""
    funcs: list[Func] = []
    for number in range(draw(st.integers(2, 5))):
        vars = (X, Y)[: draw(st.integers(0, 2))]
        func = Func(f"f{number}")
        type = draw(st.sampled_from(TYPES))
        func[vars] = cast(type, draw(_values(vars, funcs)))
        for _ in range(draw(st.integers(0, 2))):
            r = RDom([draw(_ranges())], f"r{number}")
            left = tuple(v if draw(st.booleans()) else fn.clamp(r.x, 0, 2) for v in vars)
            places = (r.x, *(v for v, place in zip(vars, left, strict=True) if v is place))
            if draw(st.booleans()):
                r.where(draw(_conditions(places, funcs)))
            func[left] = cast(type, cast(Int32, func[left]) + draw(_values(places, funcs)))
        funcs.append(func)
    return pipeline(funcs[-1])


def _ranges() -> st.SearchStrategy[tuple[int, object]]:
    extents = st.sampled_from([0, 1, 3, COUNT, COUNT - 1, fn.min(COUNT, 2)])
    return st.tuples(st.integers(-2, 2), extents)


@st.composite
def _values(draw: st.DrawFn, places: tuple[Expr, ...], funcs: list[Func]) -> Expr:
    """A number from coordinates, an image and earlier Funcs, read at places that such numbers
    give.
    """
    leaves = [COUNT.as_expr(), IMAGE[draw(_places(places, funcs))], *places]
    value = draw(st.sampled_from(leaves))
    if funcs and draw(st.booleans()):
        func = draw(st.sampled_from(funcs))
        at = tuple(draw(_places(places, funcs)) for _ in range(len(func.args)))
        value = value + cast(Int32, func[at])
    if draw(st.booleans()):
        value = fn.select(draw(_conditions(places, funcs)), value, 1)
    return value


@st.composite
def _places(draw: st.DrawFn, places: tuple[Expr, ...], funcs: list[Func]) -> Expr:
    inside = draw(st.sampled_from([*places, COUNT.as_expr()]))
    if funcs and draw(st.integers(0, 2)) == 0:
        func = draw(st.sampled_from(funcs))
        inside = inside + cast(Int32, func[tuple(fn.clamp(inside, 0, 3) for _ in func.args)])
    return fn.clamp(inside, 0, 5)


@st.composite
def _conditions(draw: st.DrawFn, places: tuple[Expr, ...], funcs: list[Func]) -> Expr:
    place = draw(st.sampled_from([*places, COUNT.as_expr()]))
    parity = place % 2 == draw(st.integers(0, 2))
    if funcs and draw(st.booleans()):
        func = draw(st.sampled_from(funcs))
        at = tuple(draw(_places(places, funcs)) for _ in func.args)
        return parity & (cast(Int32, func[at]) > draw(st.integers(-3, 9)))
    return parity


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(algorithms(), st.integers(-1, 3), st.integers(0, 3))
def test_whatever_is_legal_is_evaluated(algorithm: Pipeline, count: int, extent: int) -> None:
    verdict = verify(algorithm, schedule(algorithm).schedule, device("cpu"))
    if isinstance(verdict, CheckedSchedule):
        output = algorithm.function(algorithm.outputs[0])
        least = 0 if len(output.stages) == 1 else 3  # the highest place that updates store to
        assert_evaluated(algorithm, {output.name: [max(extent, least)] * len(output.args)}, count)
