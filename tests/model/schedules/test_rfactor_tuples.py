"""Reductions of Tuples in two steps: several values that change together, held against Python's own
whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle

import numpy as np
import pytest

import spaces
from spaces import Func, ImageParam, Int16, Int32, Pipeline, RDom, UInt8, Var
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.reductions.accumulation import accumulation
from tests.differential.quick_code import quick_code

X = Var("x")
CPU = spaces.device("cpu")
WIDTH, HEIGHT = 12, 8
Values = tuple[int, ...]
Step = Callable[[Values, Sequence[int]], Values]


def wrapped(value: int, element: spaces.Type) -> int:
    return (value - element.min_value) % (1 << element.bits) + element.min_value


def product(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    return (a[0] * u - a[1] * v, a[1] * u + a[0] * v)


def commuted(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    return (u * a[0] - v * a[1], a[0] * v + u * a[1])


def swapped(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    return (a[1] * v + a[0] * u, u * a[1] - v * a[0])


def split(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    return (a[0] * u + a[1] * v, a[1] * u + a[0] * v)


def dual(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    return (a[0] * u, a[1] * u + v * a[0])


def with_a_sum(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    return (*product(a, u, v), a[2] + u * v)


def two_products(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    first, second = product(a[::2], u, v), product(a[1::2], v, u)
    return (first[0], second[0], first[1], second[1])


def sums(a: tuple[Expr, ...], u: Expr, v: Expr) -> tuple[Expr, ...]:
    return (a[0] + u, v + a[1])


def numbers(step: Callable[..., tuple[Expr, ...]]) -> Step:
    """The same on Python's numbers, which do not wrap."""
    return lambda now, given: step(now, *given)  # type: ignore[arg-type,return-value]


FORMS: dict[str, tuple[Callable[..., tuple[Expr, ...]], int]] = {
    "complex product": (product, 2),
    "factors commuted": (commuted, 2),
    "imaginary part first": (swapped, 2),
    "sum for the difference": (split, 2),
    "dual numbers": (dual, 2),
    "with a sum beside it": (with_a_sum, 3),
    "two products": (two_products, 4),
    "complex sum": (sums, 2),
}

TEXTS = {
    "rows": "f.update(0).rfactor(r.y, u).update(0).parallel(u)",
    "columns": "f.update(0).split(r.x, xo, xi, 5).rfactor(xi, u).compute_root().vectorize(u)",
    "both": "f.update(0).rfactor({{r.x, u}, {r.y, v}}).compute_root().update(0).vectorize(u, 4)",
    "fused": "f.update(0).fuse(r.x, r.y, t).split(t, to, ti, 7).rfactor(to, u)",
}


def reduced(name: str, element: spaces.Type) -> Pipeline:
    step, count = FORMS[name]
    u, v, f = ImageParam(element, 2, "u"), ImageParam(element, 2, "v"), Func("f")
    r = RDom([(0, WIDTH), (1, HEIGHT)], "r")
    f[X] = tuple(spaces.cast(element, X + n + 1) for n in range(count))
    f[X] = step(tuple(f[X]), u[r.x, r.y], v[r.x, r.y])
    return spaces.pipeline(f)


def meant(name: str, element: spaces.Type, u: np.ndarray, v: np.ndarray) -> list[Values]:
    step, count = FORMS[name]
    found = []
    for x in range(4):
        now = tuple(x + n + 1 for n in range(count))
        for row in range(1, HEIGHT + 1):
            for column in range(WIDTH):
                made = numbers(step)(now, (int(u[row, column]), int(v[row, column])))
                now = tuple(wrapped(value, element) for value in made)
        found.append(now)
    return found


@pytest.mark.parametrize(("name", "element"), [*zip(FORMS, cycle((Int32, UInt8, Int16)))])
def test_components_that_change_together_are_factored(name: str, element: spaces.Type) -> None:
    algorithm = reduced(name, element)
    generator = np.random.default_rng(3)
    info = np.iinfo(element.dtype)
    u, v = (
        generator.integers(info.min, info.max, (HEIGHT + 1, WIDTH), element.dtype, endpoint=True)
        for _ in range(2)
    )
    # One part odd, the other even: others soon wrap to zero.
    u, v = u | np.array(1, element.dtype), v & np.array(~1 & info.max, element.dtype)
    expected = meant(name, element, u, v)
    assert all(any(values) for values in expected)
    run = ({"u": u, "v": v}, {}, {"f": [4]})
    for form, text in TEXTS.items():
        written = spaces.parse_schedule(text, algorithm)
        checked = spaces.verify(algorithm, written, CPU)
        assert checked, f"{form}: {checked}"
        whole = evaluate(spaces.derived(algorithm, written), *run)
        with quick_code():
            compiled = compile_cpu(checked).run(*run)
        for found in (whole, compiled):
            columns = [found[f"f.{n}"].tolist() for n in range(FORMS[name][1])]
            assert list(zip(*columns, strict=True)) == expected


def test_values_with_those_before_them_follow_in_order() -> None:
    """The sum of all, and the sum but for the second value of all but the last."""
    u, v, f = ImageParam(Int32, 2, "u"), ImageParam(Int32, 2, "v"), Func("f")
    r = RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f[X] = (X, 7)
    before = f[X][0]
    f[X] = (before + u[r.x, r.y], v[r.x, r.y] + before)
    algorithm = spaces.pipeline(f)
    generator = np.random.default_rng(8)
    given = {name: generator.integers(-99, 99, (HEIGHT, WIDTH), np.int32) for name in "uv"}
    total = int(given["u"].sum())
    last = total - int(given["u"][-1, -1]) + int(given["v"][-1, -1])
    text = "f.update(0).split(r.y, yo, yi, 2).rfactor(yo, w).update(0).parallel(w)"
    checked = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert checked, str(checked)
    found = compile_cpu(checked).run(given, sizes={"f": [3]})
    assert found["f.0"].tolist() == [x + total for x in range(3)]
    assert found["f.1"].tolist() == [x + last for x in range(3)]
    for refused, part in (
        ("f.update(0).rfactor(r.x, w)", "combines each value with those before it"),
        ("f.update(0).split(r.y, yo, yi, 3).rfactor(yo, w)", "may reduce nothing"),
    ):
        verdict = spaces.verify(algorithm, spaces.parse_schedule(refused, algorithm), CPU)
        assert [v.rule for v in verdict.violations] == ["derive.order"]
        assert part in str(verdict)


def test_a_best_beside_a_sum_keeps_its_order() -> None:
    image, f = ImageParam(UInt8, 2, "input"), Func("f")
    r = RDom([(0, WIDTH), (0, HEIGHT)], "r")
    value = image[r.x, r.y]
    f[X] = (0, spaces.cast(UInt8, 0), -1)
    count, most, at = f[X]
    better = most < value
    f[X] = (
        count + value,
        spaces.max(most, value),
        spaces.select(better, r.y * WIDTH + r.x, at),
    )
    algorithm = spaces.pipeline(f)
    text = "f.update(0).rfactor(r.y, u).update(0).parallel(u)"
    checked = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert checked, str(checked)
    pixels = np.random.default_rng(1).integers(0, 5, (HEIGHT, WIDTH), np.uint8)
    found = compile_cpu(checked).run({"input": pixels}, sizes={"f": [1]})
    expected = [int(pixels.sum()), int(pixels.max()), int(pixels.argmax())]
    assert [int(found[f"f.{n}"][0]) for n in range(3)] == expected
    inner = spaces.parse_schedule("f.update(0).rfactor(r.x, u)", algorithm)
    assert {v.rule for v in spaces.verify(algorithm, inner, CPU).violations} == {"derive.order"}


def refused_forms() -> dict[str, Callable[..., tuple[Expr, ...]]]:
    return {
        "other factors": lambda a, u, v: (a[0] * u - a[1] * v, a[1] * v + a[0] * u),
        "sum of squares": lambda a, u, v: (a[0] * a[0] - a[1] * v, a[1] * u + a[0] * v),
        "difference last": lambda a, u, v: (a[0] * u - a[1] * v, a[1] * u - a[0] * v),
        "matrix": lambda a, u, v: (a[0] * u + a[1] * v, a[0] * v + a[1] * 2),
        "another cross factor": lambda a, u, v: (a[0] * u - a[1] * v, a[1] * u + a[0] * (v + 1)),
        "constant beside": lambda a, u, v: (a[0] * u - a[1] * v + 1, a[1] * u + a[0] * v),
        "crosswise": lambda a, u, v: (a[1] + u, a[0] + v),
        "previous": lambda a, u, v: (u, a[0]),
    }


@pytest.mark.parametrize("name", refused_forms())
def test_what_is_not_associative_is_refused(name: str) -> None:
    u, v, f = ImageParam(Int32, 1, "u"), ImageParam(Int32, 1, "v"), Func("f")
    r = RDom([(0, WIDTH)], "r")
    f[X] = (1, 0)
    f[X] = refused_forms()[name](tuple(f[X]), u[r.x], v[r.x])
    algorithm = spaces.pipeline(f)
    assert accumulation(algorithm.function("f"), 1) is None
    text = "f.update(0).split(r.x, xo, xi, 4).rfactor(xo, u)"
    verdict = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert [v.rule for v in verdict.violations] == ["derive.operator"]
    assert "products of complex numbers" in str(verdict)


def test_products_are_not_changed_in_one_step() -> None:
    algorithm = reduced("complex product", Int32)
    text = "f.update(0).atomic().parallel(r.y)"
    verdict = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert {v.rule for v in verdict.violations} >= {"race.atomic"}
    assert "change together" in str(verdict)
