"""Which schedules give the bits of the algorithm. Schedules called exact do, for all floats; some
of the others are seen to differ.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import spaces
from spaces import Float32, Float64, Func, ImageParam, Int32, Pipeline, RDom, UInt8, Var
from spaces.backend.arguments import Array
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.expressions.expr import Expr
from tests.draw_counts import examples

pytestmark = pytest.mark.optimised

X = Var("x")
CPU = spaces.device("cpu")
WIDTH, HEIGHT, PLACES = 8, 6, 4
SIZES = {"f": [PLACES]}


def added(now: Func, value: Expr) -> Expr:
    return now[X] + value


def multiplied(now: Func, value: Expr) -> Expr:
    return value * now[X]


def least(now: Func, value: Expr) -> Expr:
    return spaces.min(now[X], value)


def greatest(now: Func, value: Expr) -> Expr:
    return spaces.max(value, now[X])


def kept_until_nan(now: Func, value: Expr) -> Expr:
    return spaces.select(spaces.is_nan(now[X]) | (now[X] > value), now[X], value)


def saturating(now: Func, value: Expr) -> Expr:
    return spaces.saturating_add(now[X], value)


def first_least(now: Func, value: Expr) -> tuple[Expr, ...]:
    taken = value < now[X][0]
    return spaces.select(taken, value, now[X][0]), spaces.select(taken, value + 1, now[X][1])


def least_of_two(now: Func, value: Expr) -> tuple[Expr, ...]:
    taken = value < now[X][0]
    return spaces.min(now[X][0], value), spaces.select(taken, value + 1, now[X][1])


def complex_product(now: Func, value: Expr) -> tuple[Expr, ...]:
    one, other = now[X][0], now[X][1]
    more = value + 1
    return one * value - other * more, other * value + one * more


SINGLE = [added, multiplied, least, greatest, kept_until_nan, saturating]
TUPLES = [first_least, least_of_two, complex_product]
TYPES = {"f32": Float32, "f64": Float64, "i32": Int32, "u8": UInt8}


def reduction(update: object, element: spaces.Type) -> Pipeline:
    """Values of an image and of a coordinate, reduced over both dimensions of the image."""
    image = ImageParam(element, 2, "image")
    r = RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f = Func("f")
    is_tuple = update in TUPLES
    is_greatest = update in (greatest, kept_until_nan)
    start = spaces.cast(element, -1 if is_greatest and element.is_float else 1)
    f[X] = (start, start) if is_tuple else start
    f[X] = update(f, image[r.x, r.y] - spaces.cast(element, X))
    return spaces.pipeline(f)


REORDERED = [
    "f.update(0).rfactor(r.y, u); f_intm.compute_root()",
    "f.update(0).rfactor(r.x, u); f_intm.compute_root().update(0).parallel(u)",
    "f.update(0).rfactor({{r.x, u}, {r.y, v}}); f_intm.compute_root()",
    "f.update(0).atomic().vectorize(r.x, 8)",
    "f.update(0).atomic().split(r.y, ro, ri, 3).vectorize(ri)",
    "f.update(0).atomic().parallel(r.y)",
    "f.update(0).reorder(r.y, r.x)",
    "f.update(0).reorder(r.y, x, r.x)",
    "f.update(0).split(r.x, ro, ri, 3).reorder(ro, ri)",
    "f.update(0).fuse(r.y, r.x, t)",
]
KEPT = [
    "f.update(0).vectorize(x, 4)",
    "f.update(0).reorder(x, r.x, r.y).vectorize(x, 4)",
    "f.update(0).split(r.x, ro, ri, 3).unroll(ri)",
    "f.update(0).fuse(r.x, r.y, t).parallel(x)",
    "f.update(0).atomic().vectorize(x, 2).unroll(r.x, 2)",
    "f.update(0).atomic().parallel(x)",
]


def judged(pipeline: Pipeline, text: str, device: spaces.Device = CPU) -> CheckedSchedule | None:
    verdict = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), device)
    return verdict if isinstance(verdict, CheckedSchedule) else None


ODD = {
    "numbers": (),
    "zeros": (0.0, -0.0),
    "up to zero": (0.0, -0.0, -0.25, -0.5),
    "no numbers": (0.0, -0.0, np.nan, 0.0, -0.0, 0.5),
    "all": (0.0, -0.0, -1.0, -2.0, np.inf, -np.inf, np.nan),
}
"""Special floats, by name; each image has them besides drawn values."""


def values(element: spaces.Type, kind: str, seed: int) -> np.ndarray:
    """An image of a type; an image of floats includes the floats of a kind."""
    random = np.random.default_rng(seed)
    shape = (HEIGHT, WIDTH)
    if not element.is_float:
        info = np.iinfo(element.dtype)
        return random.integers(info.min, info.max, shape, element.dtype, endpoint=True)
    found = 1 + random.random(shape)
    if ODD[kind]:
        odd = random.choice(ODD[kind], shape)
        found = np.where(random.random(shape) < random.choice([0.1, 0.5, 1.0]), odd, found)
    return found.astype(element.dtype)


def bits(array: np.ndarray) -> np.ndarray:
    """The bits to compare: all NaN are equal."""
    if array.dtype.kind != "f":
        return array
    known = np.where(np.isnan(array), np.nan, array).astype(array.dtype)
    return known.view(f"u{array.dtype.itemsize}")


def differs(pipeline: Pipeline, run: Callable[..., Mapping[str, Array]], image: np.ndarray) -> bool:
    """Whether the results have other bits than the reference."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = evaluate(pipeline, {"image": image}, sizes=SIZES)
    found = run({"image": image}, sizes=SIZES)
    return any(not np.array_equal(bits(found[o]), bits(expected[o])) for o in expected)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from([*SINGLE, *TUPLES]),
    st.sampled_from(sorted(TYPES)),
    st.sampled_from([*REORDERED, *KEPT]),
    st.sampled_from(sorted(ODD)),
    st.integers(0, 2**32 - 1),
)
def test_exact_schedules_give_the_bits_of_the_algorithm(
    update: object, element: str, text: str, kind: str, seed: int
) -> None:
    assume(update is not kept_until_nan or TYPES[element].is_float)
    assume(update is not saturating or not TYPES[element].is_float)
    pipeline = reduction(update, TYPES[element])
    checked = judged(pipeline, text)
    assume(checked is not None and checked.is_exact)
    run = compile_cpu(checked, threads=3).run
    assert not differs(pipeline, run, values(TYPES[element], kind, seed))


SEEN = [*REORDERED[:2], *REORDERED[3:5]]
"""Partial results of more than one value, and vector lanes. In a short run, threads run in
order.
"""

DIFFERENT = [
    *itertools.product([added, multiplied, least], ["f32"], SEEN),
    *itertools.product([added, multiplied, least], ["f64"], SEEN[:1]),
    *itertools.product([least, greatest], ["f32"], REORDERED[6:8]),
    *itertools.product([greatest, kept_until_nan, complex_product], ["f32"], REORDERED[1:2]),
    (least_of_two, "f32", REORDERED[0]),
]


@pytest.mark.parametrize(("update", "element", "text"), DIFFERENT)
def test_schedules_that_are_not_exact_are_seen_to_differ(
    update: object, element: str, text: str
) -> None:
    pipeline = reduction(update, TYPES[element])
    checked = judged(pipeline, text)
    assert checked is not None
    assert not checked.is_exact
    run = compile_cpu(checked, threads=3).run
    tries = itertools.product(sorted(ODD), range(20))
    assert any(differs(pipeline, run, values(TYPES[element], *how)) for how in tries)
