"""The best of several values, where their places decide between equal ones, in two steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spaces
from spaces import Float32, Func, ImageParam, Int16, Int32, Pipeline, RDom, UInt8, Var, cast, select
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.reductions.accumulation import accumulation
from tests.differential.quick_code import quick_code

X = Var("x")
CPU = spaces.device("cpu")
WIDTH, HEIGHT = 12, 8

Values = tuple[Expr, ...]


def greatest(now: Values, v: Expr, i: Expr, j: Expr) -> Values:
    """The greatest value, and the smallest place of it."""
    better = (v > now[1]) | ((v == now[1]) & (i < now[0]))
    return select(better, i, now[0]), select(better, v, now[1])


def least(now: Values, v: Expr, i: Expr, j: Expr) -> Values:
    """The least value, by an extreme; the greatest place of it, all turned round."""
    better = ((now[0] < i) & (now[1] == v)) | (now[1] > v)
    return select(better, i, now[0]), spaces.min(now[1], v)


def by_three(now: Values, v: Expr, i: Expr, j: Expr) -> Values:
    """The greatest value, of these the least row, of these the greatest column."""
    second = (j < now[1]) | ((now[1] == j) & (i > now[0]))
    better = (v > now[2]) | ((v == now[2]) & second)
    return select(better, i, now[0]), select(better, j, now[1]), select(better, v, now[2])


FORMS: dict[str, tuple[Callable[..., Values], Callable[[int, int, int], tuple[int, ...]], bool]] = {
    "greatest": (greatest, lambda v, i, j: (v, -i), False),
    "least": (least, lambda v, i, j: (-v, i), False),
    "by three": (by_three, lambda v, i, j: (v, -j, i), True),
}
"""How an update changes what there is; what it makes greatest; whether ``j`` is kept."""

TEXTS = (
    "f.update(0).rfactor(r.y, u).update(0).parallel(u)",
    "f.update(0).split(r.x, xo, xi, 4).rfactor(xi, u).compute_root().vectorize(u)",
    "f.update(0).rfactor({{r.x, u}, {r.y, v}}).compute_root().update(0).vectorize(u, 4)",
    "f.update(0).reorder(r.y, r.x).rfactor(r.x, u)",
)


def reduced(name: str, element: spaces.Type) -> Pipeline:
    step, _, has_row = FORMS[name]
    image, f, r = ImageParam(element, 2, "im"), Func("f"), RDom([(0, WIDTH), (0, HEIGHT)], "r")
    start = cast(element, X * 3)
    f[X] = (X * 7, X, start) if has_row else (X * 7, start)
    # Many places are equal: the index tells columns only, modulo 4.
    f[X] = step(tuple(f[X]), image[r.x, r.y], r.x % 4, r.y)
    return spaces.pipeline(f)


@pytest.mark.parametrize(("name", "element"), [*zip(FORMS, (Int16, UInt8, Int32), strict=True)])
def test_the_order_does_not_matter(name: str, element: spaces.Type) -> None:
    made, (_, key, has_row) = reduced(name, element), FORMS[name]
    rng = np.random.default_rng(4)
    info = np.iinfo(element.dtype)
    for text in TEXTS:
        checked = spaces.verify(made, spaces.parse_schedule(text, made), CPU, exact=True)
        assert checked, str(checked)
        with quick_code():
            compiled = spaces.compile_cpu(checked)
        for values in ([0, 1, 2], [info.min, info.max], [info.min], [info.max]):
            image = rng.choice(values, (HEIGHT, WIDTH)).astype(element.dtype)
            found = compiled({"im": image}, {}, {"f": [4]})
            for x in range(4):
                every = [(int(image[y, c]), c % 4, y) for y in range(HEIGHT) for c in range(WIDTH)]
                wanted = max([(3 * x, 7 * x, x), *every], key=lambda one: key(*one))
                columns = [int(found[f"f.{n}"][x]) for n in range(3 if has_row else 2)]
                v, i, j = wanted
                assert columns == ([i, j, v] if has_row else [i, v])


def test_other_tests_decide_nothing() -> None:
    def kept(step: Callable[[Values, Expr, Expr], Values], element: spaces.Type = Int32) -> object:
        image, f, r = ImageParam(element, 1, "im"), Func("f"), RDom([(0, 9)], "r")
        f[X] = (0, cast(element, 0))
        f[X] = step(tuple(f[X]), image[r.x], r.x)
        return accumulation(spaces.pipeline(f).function("f"), 1)

    def swapped(now: Values, v: Expr, i: Expr) -> Values:
        better = (v > now[1]) | ((v == now[1]) & (i < now[0]))
        return select(better, now[0], i), select(better, v, now[1])

    def without_equality(now: Values, v: Expr, i: Expr) -> Values:
        better = (v > now[1]) | ((v >= now[1]) & (i < now[0]))
        return select(better, i, now[0]), select(better, v, now[1])

    def of_another(now: Values, v: Expr, i: Expr) -> Values:
        better = (v > now[1]) | ((v == now[1]) & (i + 1 < now[0]))
        return select(better, i, now[0]), select(better, v, now[1])

    def contrary(now: Values, v: Expr, i: Expr) -> Values:
        better = (v > now[1]) | ((v == now[1]) & (i < now[0]))
        return select(better, i, now[0]), spaces.min(v, now[1])

    for step in (swapped, without_equality, of_another, contrary):
        assert kept(step) is None
    floats = kept(lambda now, v, i: greatest(now, v, i, i), Float32)
    assert "zero" in floats.inexact
