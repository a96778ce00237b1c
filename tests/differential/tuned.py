"""What libraries tune by hand: sums of products, and other updates whose terms a producer computes;
and small tables that are read in turns. Drawn at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from spaces import Expr, Float32, Func, ImageParam, Int16, Int32, RDom, UInt8, Var, cast
from spaces.model.expressions import functions as fn

X, Y = Var("x"), Var("y")


def _producer(rng: random.Random, name: str, source: Any) -> Any:
    """A Func that computes what is read, or that itself."""
    if rng.random() < 0.1:
        return source
    func = Func(name)
    func[X, Y] = source[X, Y] * 3 - cast(Int32, source[X, Y + rng.randint(0, 1)]) + X
    return func


def _read(rng: random.Random, func: Func) -> Func:
    """The Func, or one that reads it."""
    if rng.random() < 0.2:
        return func
    out = Func("out")
    value = func[X, Y] - Y
    out[X, Y] = value + func[X, Y + 1] if rng.random() < 0.5 else value
    return out


def turn(rng: random.Random, vars: Sequence[Expr]) -> Expr:
    """A coordinate that takes turns: a remainder or a quotient by a small number."""
    one, other = rng.choice(vars), rng.choice(vars)
    by, shift = rng.choice((1, 2, 2, 3, 4)), rng.randint(-2, 2)
    forms: tuple[Callable[[], Expr], ...] = (
        lambda: one % by,
        lambda: (one + shift) % by,
        lambda: (one + other) % by,
        lambda: (one * 2 - other) % by,
        lambda: one / by,
        lambda: (one + other) / by,
        lambda: one / by % 2,
        lambda: one % by * 2 + other % 2,
        lambda: one % 4 / 2,
        lambda: by - 1 - one % by,
        lambda: one % by + other,
        lambda: fn.select(one % 2 == 0, other % by, by),
    )
    return rng.choice(forms)()


def _turns(rng: random.Random) -> Func:
    """Small tables read in turns, in a definition, in an update, or in both."""
    image = ImageParam(rng.choice((Int32, Int16, UInt8)), 2, "input")
    weights: Any = ImageParam(rng.choice((Int32, Float32, UInt8)), 2, "weights")
    if rng.random() < 0.3:
        weights = Func("table")
        weights[X, Y] = X * X - 3 * Y
    func, r = Func("turns"), RDom([(0, rng.choice((1, 2, 3)))], "r")
    first = weights[turn(rng, (X, Y)), turn(rng, (X, Y))]
    value = cast(Int32, first) * image[X, turn(rng, (X, Y))]
    if rng.random() < 0.4:
        func[X, Y] = value
        return _read(rng, func)
    func[X, Y] = value if rng.random() < 0.3 else Y - X
    places = [turn(rng, (X, Y, r.x)) for _ in range(2)]
    taps = image[rng.choice((X, X / 2, X + r.x)), rng.choice((Y, Y / 3, Y - r.x))]
    func[X, Y] += cast(Int32, weights[tuple(places)]) * cast(Int32, taps)
    return _read(rng, func)


def _transposed(rng: random.Random) -> Func:
    """A convolution whose steps are less than one: each element has weights of its own turn."""
    image = ImageParam(Int32, 2, "input")
    weights = ImageParam(rng.choice((Int32, Float32)), 2, "weights")
    by = rng.choice((2, 2, 3, 4))
    r = RDom([(0, rng.choice((1, 2, 3))), (0, rng.choice((1, 2)))], "r")
    before, total = _producer(rng, "before", image), Func("total")
    total[X, Y] = cast(weights.type, 0)
    weight = weights[X % by + by * r.x, Y % by + by * r.y]
    total[X, Y] += weight * before[X / by - r.x, Y / by - r.y]
    return _read(rng, total)


def _products(rng: random.Random) -> Func:
    """Products of pairs of columns of one image, and those of another image beside."""
    image, other = ImageParam(Int32, 2, "input"), ImageParam(Int32, 2, "other")
    column, row = _producer(rng, "column", image), _producer(rng, "row", other)
    r = RDom([(0, rng.choice((1, 3, 5)))], "r")
    total = Func("total")
    total[X, Y] = X * rng.randint(0, 2)
    second = column[Y, r.x] if rng.random() < 0.6 else row[r.x, Y]
    value = column[X, r.x] * second
    total[X, Y] += value + row[r.x, Y] if rng.random() < 0.5 else value
    return _read(rng, total)


def _convolution(rng: random.Random) -> Func:
    """Windows of a producer, weighted by a table."""
    image = ImageParam(rng.choice((Int32, UInt8)), 2, "input")
    weights = ImageParam(rng.choice((Int32, Float32)), 2, "weights")
    r = RDom([(rng.randint(-1, 0), rng.choice((1, 2, 3))), (0, rng.choice((1, 2, 3)))], "r")
    before, total = _producer(rng, "before", image), Func("total")
    total[X, Y] = cast(weights.type, Y)
    by = rng.choice((1, 1, 1, 2))
    tap = cast(Int32, before[X * by + r.x, Y * by + r.y])
    total[X, Y] += weights[r.x, r.y] * tap
    return _read(rng, total)


def _histograms(rng: random.Random) -> Func:
    """Counts of each row, at places that a producer says."""
    image = ImageParam(rng.choice((UInt8, Int32)), 2, "input")
    before, counts = _producer(rng, "before", image), Func("counts")
    r = RDom([(0, rng.choice((1, 3, 4))), (0, rng.choice((1, 2)))], "r")
    value = cast(Int32, before[r.x, Y + r.y])
    place = value % rng.choice((2, 3, 8)) if rng.random() < 0.5 else fn.clamp(value, 0, 7)
    counts[X, Y] = X * rng.randint(0, 1)
    counts[place, Y] += 1 + r.x % 2
    out = Func("out")
    out[X, Y] = counts[X % rng.choice((2, 3, 8)), Y] + counts[fn.clamp(X, 0, 7), Y + 1]
    return out


def _scans(rng: random.Random) -> Func:
    """Rows or columns that depend on those before, of what a producer computes."""
    image = ImageParam(Int32, 2, "input")
    before, total = _producer(rng, "before", image), Func("total")
    r = RDom([(1, rng.randint(1, 6))], "r")
    total[X, Y] = before[X, Y]
    if rng.random() < 0.5:
        total[X, r.x] = total[X, r.x - 1] * 2 + before[X, r.x]
    else:
        total[r.x, Y] = total[r.x - 1, Y] + before[r.x, Y + 1]
    if rng.random() < 0.3:
        total[X, Y] += total[X, Y] % 3
    return _read(rng, total)


def _best(rng: random.Random) -> Func:
    """The place of the greatest or least term of a window, and the term."""
    image = ImageParam(rng.choice((UInt8, Int32)), 2, "input")
    before, pair, out = _producer(rng, "before", image), Func("pair"), Func("out")
    r = RDom([(rng.randint(-1, 0), rng.choice((1, 2, 3))), (0, rng.choice((1, 2)))], "r")
    value = cast(Int32, before[X + r.x, Y + r.y]) % rng.choice((3, 1000))
    pair[X, Y] = (-1, -1000) if rng.random() < 0.5 else (X, Y)
    better = value > pair[X, Y][1] if rng.random() < 0.7 else value >= pair[X, Y][1]
    pair[X, Y] = (
        fn.select(better, r.x * 4 + r.y, pair[X, Y][0]),
        fn.select(better, value, pair[X, Y][1]),
    )
    if rng.random() < 0.3:
        return pair
    out[X, Y] = pair[X, Y][0] * 5 + pair[X, Y + 1][1]
    return out


TUNED: dict[str, Callable[[random.Random], Func]] = {
    "turns": _turns,
    "transposed convolution": _transposed,
    "products": _products,
    "convolution": _convolution,
    "histogram": _histograms,
    "scan": _scans,
    "best": _best,
}
"""How to draw the pipelines of each kind."""
