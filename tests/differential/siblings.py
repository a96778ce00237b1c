"""Pipelines of Funcs that read the same and not each other, which can be computed together."""

from __future__ import annotations

import random

from spaces import Expr, Func, ImageParam, Int32, RDom, UInt8, Var, cast

X, Y = Var("x"), Var("y")


def siblings(rng: random.Random) -> tuple[Func, Func]:
    """Two or three Funcs of unequal parts, updated at points, along rows and along columns; the
    last of them, and what reads them all.
    """
    image = ImageParam(UInt8, 2, "input")
    shared, own, out = Func("shared"), Func("own"), Func("out")
    shared[X, Y] = cast(Int32, image[X, Y]) * 2 + image[X + 1, Y]
    own[X, Y] = cast(Int32, image[X, Y + 1]) - X
    r = RDom([(0, rng.choice((3, 4, 6)))], name="r")
    total: Expr | None = None
    last = rng.choice((1, 1, 2))
    for number in range(last + 1):
        func = Func(f"f{number}")
        source = rng.choice((shared, shared, own))
        func[X, Y] = shared[_near(rng, X), _near(rng, Y)] + source[_near(rng, X), _near(rng, Y)]
        for _ in range(rng.choice((0, 1, 1, 2))):
            where = ("point", "each") if number == last else ("point", "row", "column", "each")
            _update(rng, func, rng.choice((shared, own, shared)), r, rng.choice(where))
        read = func[_near(rng, X), _near(rng, Y)] * rng.choice((1, 3, -2))
        total = read if total is None else total + read - func[X, Y]
    assert total is not None
    out[X, Y] = total
    return func, out


def _near(rng: random.Random, var: Expr) -> Expr:
    return var + rng.choice((0, 0, 1, -1, 2, 3))


def _update(rng: random.Random, func: Func, source: Func, r: RDom, where: str) -> None:
    match where:
        case "point":
            func[X, Y] = func[X, Y] * 3 + source[_near(rng, X), Y]
        case "row":
            func[r, Y] = func[r, Y] * 2 - func[r + 1, Y] + source[r, _near(rng, Y)]
        case "column":
            func[X, r] = func[X, r] + source[X, r] - func[X, r - 1] * 2
        case _:
            func[X, Y] += source[X, Y + r]
