"""Random pipelines of Funcs that read each other at coordinates that move every way: straight,
backwards, faster, slower, sheared, along diagonals, with the same loop along two dimensions.
"""

from __future__ import annotations

import random

from spaces import Expr, Func, ImageParam, Int32, Pipeline, RDom, Var, pipeline
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import as_expr

VARS = (Var("x"), Var("y"), Var("z"))
IMAGE = "im"
EXTENTS = (24, 13, 3)
"""The extents of outputs."""

HALF = 400
PLACE = ((-HALF, 2 * HALF + 1), (-HALF, 2 * HALF + 1))
"""Images reach from ``-HALF`` to ``HALF`` along both dimensions."""


def moving_pipeline(rng: random.Random) -> Pipeline:
    """Two to four Funcs in a row, with further reads of earlier ones; the last is the output."""
    image = ImageParam(Int32, 2, IMAGE)
    funcs: list[tuple[Func, int]] = []
    for index in range(rng.randint(2, 4)):
        dimensions = rng.choices((1, 2, 3), (2, 6, 1))[0]
        func, args = Func(f"f{index}"), VARS[:dimensions]
        value: Expr = as_expr(0)
        for arg in args:
            value = value * 7 + arg
        if not funcs or rng.random() < 0.3:
            value = value + image[fn.clamp(args[0], -HALF, HALF), fn.clamp(args[-1], -HALF, HALF)]
        for read, rank in [*funcs[-1:], *(f for f in funcs[:-1] if rng.random() < 0.3)]:
            place = coordinates(rng, args, rank)
            for _ in range(rng.randint(1, 3)):
                value = value * 3 + read[tuple(c + rng.choice((0, 0, 1, -1, 2)) for c in place)]
        func[args] = value
        if rng.random() < 0.2:
            _update(rng, func, args, funcs)
        funcs.append((func, dimensions))
    output, dimensions = funcs[-1]
    return pipeline(output, estimates={output.name: EXTENTS[:dimensions], IMAGE: PLACE})


def _update(
    rng: random.Random, func: Func, args: tuple[Var, ...], funcs: list[tuple[Func, int]]
) -> None:
    """An update over a small domain, or of each element, or of the elements in fixed places."""
    r = RDom([(rng.randint(-1, 1), rng.randint(1, 3))], "r")
    kind = rng.randrange(3)
    place: tuple[Expr, ...] = args
    if kind == 1:
        place = (*args[:-1], as_expr(r.x))
    added: Expr = as_expr(1) if kind == 0 else as_expr(r.x)
    if funcs:
        read, rank = funcs[-1]
        given = (*place, as_expr(r.x)) if kind else place
        added = added + read[tuple(coordinate(rng, given) for _ in range(rank))]
    func[place] = func[place] * 2 + added


def coordinates(rng: random.Random, args: tuple[Var, ...], rank: int) -> tuple[Expr, ...]:
    """A place in a Func of ``rank`` dimensions; often the same Var moves along two of them."""
    return tuple(
        args[d] + 0 if d < len(args) and rng.random() < 0.6 else coordinate(rng, args)
        for d in range(rank)
    )


def coordinate(rng: random.Random, args: tuple[Expr, ...]) -> Expr:
    """One coordinate, an expression of some Vars."""
    a, b, c = rng.choice(args), rng.choice(args), rng.randint(-2, 2)
    match rng.randrange(12):
        case 0 | 1 | 2:
            return a + c
        case 3 | 4:
            return a + b + c
        case 5:
            return c - a
        case 6:
            return a - b + c
        case 7:
            return a * 2 + c
        case 8:
            return a / 2 + c
        case 9:
            return fn.clamp(a + c, 0, 5)
        case 10:
            return fn.select(a > c, a, b)
        case _:
            return as_expr(c)
