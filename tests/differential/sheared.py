"""Pipelines whose Funcs are read along lines that no single dimension of them runs along."""

from __future__ import annotations

import random
from typing import Any

from spaces import Expr, Func, ImageParam, Int32, RDom, Var
from tests.differential.coordinates import Coordinates
from tests.differential.dice import Dice

_VARS = tuple(map(Var, ("x", "y", "z")))


def diagonal(rng: random.Random) -> Func:
    """A chain in which one Var alone moves two coordinates of what a Func reads."""
    return _chain(rng, "diagonal")


def sheared(rng: random.Random) -> Func:
    """A chain in which one Var moves two coordinates of what a Func reads, one of them together
    with another Var.
    """
    return _chain(rng, "sheared")


def _chain(rng: random.Random, form: str) -> Func:
    """Three Funcs, seldom more, of one to three dimensions. One of them or more reads the one
    before so; the others read it at plain places. Most read two places of it that are near each
    other, and some add more of it along an RVar.
    """
    image = ImageParam(Int32, 2, "input")
    source: Any = image
    dimensions, count = 2, rng.choice((3, 3, 3, 4))
    jointly = rng.randrange(1, count)
    for number in range(count):
        func = Func(f"f{number}")
        is_last = number == count - 1
        vars = _VARS[: rng.choice((1, 1, 2) if is_last and form == "diagonal" else (2, 2, 2, 2, 3))]
        is_joint = number == jointly or rng.random() < 0.2
        if number == 0 and rng.random() < 0.3:
            func[vars] = _counted(vars)
        else:
            func[vars] = _read(rng, source, dimensions, vars, form if is_joint else "")
        if rng.random() < 0.1 and number:
            r = RDom([(0, rng.choice((2, 3)))], f"r{number}")
            place = (r.x + vars[0], *vars[1:])[:dimensions]
            func[vars] += source[(*place, *(vars[-1] for _ in range(dimensions - len(place))))]
        source, dimensions = func, len(vars)
    assert isinstance(source, Func)
    return source


def _counted(vars: tuple[Expr, ...]) -> Expr:
    total: Expr = vars[0] + 1
    for number, var in enumerate(vars[1:], start=1):
        total = total + var * 10**number
    return total


def _read(
    rng: random.Random, source: Any, dimensions: int, vars: tuple[Expr, ...], form: str
) -> Expr:
    """What is read at a place, or the sum of two."""
    coordinates = Coordinates(Dice(rng), [], plain_share=1.0)
    place = tuple(coordinates.one(vars, d) for d in range(dimensions))
    if form and len(vars) > (form == "sheared"):
        place = coordinates.together(form, place, vars)
    value = source[place] * rng.choice((1, 2, 3))
    return value + source[coordinates.beside(place)] if rng.random() < 0.7 else value
