"""The algorithms of the fuzzer: small pipelines of every kind, drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from spaces.model.algorithm import boundary, reductions
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.require import require
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import Float32, Int16, Int32, UInt8, UInt16
from tests.differential.sheared import diagonal, sheared
from tests.differential.siblings import siblings

X, Y, Z = Var("x"), Var("y"), Var("z")

Made = Func | Sequence[Func]


def _tap(rng: random.Random, var: Expr, most: int = 2) -> Expr:
    return var + rng.randint(-most, most)


def _sum(rng: random.Random, source: Any, count: int, args: tuple[Expr, ...]) -> Expr:
    """A weighted sum of ``count`` taps."""
    total: Expr | None = None
    for _ in range(count):
        tap = source[tuple(_tap(rng, v) for v in args)]
        term = tap * rng.choice((1, 1, 2, 3))
        total = term if total is None else total + term
    assert total is not None
    return total


def _pointwise(rng: random.Random) -> Made:
    """Narrow arithmetic that wraps, one value at a time, with a scalar parameter."""
    image = ImageParam(rng.choice((UInt8, UInt16, Int16)), 2, "input")
    gain = Param(Int32, "gain", default=rng.randint(-3, 5))
    first, second, out = Func("first"), Func("second"), Func("out")
    first[X, Y] = image[X, Y] * 3 + cast(image.type, X)
    second[X, Y] = fn.select(first[X, Y] > 40, first[X, Y] - 9, first[X, Y] / 2)
    out[X, Y] = cast(Int32, second[X, Y]) * gain + first[X, Y] - Y
    return out


def _fixed_point(rng: random.Random) -> Made:
    """Bits, averages and saturation of narrow numbers, and a table read at what comes of them."""
    image = ImageParam(rng.choice((UInt8, UInt16, Int16)), 2, "input")
    pair: dict[str, Callable[[Expr, Expr], Expr]] = {
        "and": lambda a, b: a & (b >> 1),
        "or": lambda a, b: (a << 2) | b,
        "xor": lambda a, b: ~a ^ b,
        "average": fixed.rounding_halving_add,
        "half": fixed.halving_sub,
        "sum": fixed.saturating_add,
        "rest": fixed.saturating_sub,
        "rounded": lambda a, b: fixed.rounding_shift_right(a, 3) + fixed.popcount(b),
        "picked": lambda a, b: fn.mux(a & 3, [b, a, b + 1]),
        "blend": lambda a, b: fixed.lerp(a, b, cast(UInt8, fixed.absd(a, b))),
    }
    first, table, out = Func("first"), Func("table"), Func("out")
    tap = image[_tap(rng, X), _tap(rng, Y)]
    first[X, Y] = pair[rng.choice(sorted(pair))](image[X, Y], tap)
    value = pair[rng.choice(sorted(pair))](first[X, Y], first[_tap(rng, X), Y])
    if rng.random() < 0.5:
        out[X, Y] = value
        return out
    table[X] = X * 3 - X * X
    place = fixed.saturating_cast(UInt8, value) >> rng.choice((3, 4))
    out[X, Y] = table[place] + cast(Int32, first[X, Y])
    return out


def _stencils(rng: random.Random) -> Made:
    """A chain of weighted sums; later ones may read earlier ones or the image once more."""
    type = rng.choice((Int32, Int32, Int32, UInt16, Float32))
    sources: list[Any] = [ImageParam(type, 2, "input")]
    for index in range(rng.choice((2, 2, 3, 3, 4))):
        func = Func(f"f{index}")
        value = _sum(rng, sources[-1], rng.choice((1, 2, 2, 3)), (X, Y))
        if rng.random() < 0.4:
            value = value + _sum(rng, rng.choice(sources), 1, (X, Y))
        func[X, Y] = value + cast(type, X - Y)
        sources.append(func)
    last: Func = sources[-1]
    return last


def _boundaries(rng: random.Random) -> Made:
    """Stencils over an image that goes on beyond its edges."""
    image = ImageParam(rng.choice((UInt8, Int16, Int32)), 2, "input")
    edges = rng.choice(
        (
            boundary.repeat_edge,
            boundary.repeat_image,
            boundary.mirror_image,
            boundary.mirror_interior,
            lambda source: boundary.constant_exterior(source, 7),
        )
    )(image)
    first, last = Func("first"), Func("last")
    value = cast(Int32, edges[_tap(rng, X, 3), _tap(rng, Y, 3)]) * 3
    first[X, Y] = value + edges[X, _tap(rng, Y, 3)] if rng.random() < 0.4 else value
    last[X, Y] = _sum(rng, first, rng.randint(1, 2), (X, Y))
    return last


def _resampled(rng: random.Random) -> Made:
    """Steps of two: down, up, or down and up again."""
    sources: list[Any] = [ImageParam(Int32, 2, "input")]
    forms = rng.choice((("down",), ("up",), ("down", "up"), ("up", "down"), ("down", "down")))
    for index, form in enumerate((*forms, "smooth")):
        func, source = Func(f"f{index}"), sources[-1]
        if form == "down":
            func[X, Y] = source[X * 2, Y * 2] + source[X * 2 + 1, _tap(rng, Y * 2, 1)] - X
        elif form == "up":
            func[X, Y] = source[X / 2, Y / 2] * 3 + source[_tap(rng, X / 2, 1), Y / 2] + X % 2
        else:
            func[X, Y] = _sum(rng, source, 2, (X, Y))
        sources.append(func)
    last: Func = sources[-1]
    return last


def _lookups(rng: random.Random) -> Made:
    """A table read where the image says."""
    image = ImageParam(rng.choice((UInt8, Int32)), 2, "input")
    size = rng.choice((8, 16))
    table, index, out = Func("table"), Func("index"), Func("out")
    table[X] = X * X - 3 * X
    index[X, Y] = fn.clamp(cast(Int32, image[_tap(rng, X), Y]), 0, size - 1)
    out[X, Y] = table[fn.clamp(index[X, Y], 0, size - 1)] + index[X, _tap(rng, Y)]
    return out


def _reductions(rng: random.Random) -> Made:
    """A sum, a greatest value, or one that depends on the order, over a window, then a stencil."""
    image = ImageParam(Int32, 2, "input")
    source: Any = image
    if rng.random() < 0.5:
        source = Func("before")
        source[X, Y] = image[_tap(rng, X), Y] * 2 + Y
    r = RDom([(rng.randint(-1, 1), rng.choice((1, 2, 3))), (0, rng.choice((1, 2, 2, 3)))], "r")
    total, out = Func("total"), Func("out")
    total[X, Y] = rng.randint(0, 3) + X
    value = source[X + r.x, Y + r.y]
    form = rng.choice(("sum", "greatest", "ordered", "ordered", "last", "double"))
    if form == "sum":
        total[X, Y] += value
    elif form == "greatest":
        total[X, Y] = fn.max(value, total[X, Y])
    elif form == "ordered":
        total[X, Y] = total[X, Y] * 2 + value
    elif form == "last":
        total[X, Y] = fn.select(value > 0, r.x, total[X, Y])
    else:
        total[X, Y] += source[X * 2 + r.x, Y * 2 + r.y]
    if rng.random() < 0.4:
        total[X, Y] = total[X, Y] * 3 - Y
    if rng.random() < 0.2:
        return total
    out[X, Y] = _sum(rng, total, rng.randint(1, 3), (X, Y))
    return out


def _scatters(rng: random.Random) -> Made:
    """A histogram, or rows that are written where the image says, and what reads it."""
    image = ImageParam(rng.choice((UInt8, Int32)), 2, "input")
    r = RDom([(0, rng.randint(2, 5)), (0, rng.randint(1, 4))], "r")
    counts, out = Func("counts"), Func("out")
    place = fn.clamp(cast(Int32, image[r.x, r.y]), 0, 7)
    if rng.random() < 0.5:
        counts[X] = X
        if rng.random() < 0.4:
            counts[place] += 1 + r.x
        else:
            counts[place] = counts[place] * 2 + r.y
        out[X, Y] = counts[fn.clamp(X + Y, 0, 7)] + Y
    else:
        counts[X, Y] = X - Y
        counts[place, Y] += r.x + 2
        out[X, Y] = counts[fn.clamp(X, 0, 7), Y] + counts[0, _tap(rng, Y)]
    return out


def _scans(rng: random.Random) -> Made:
    """Rows that depend on those before, or an update in place along one row or column."""
    image = ImageParam(Int32, 2, "input")
    func, out = Func("rows"), Func("out")
    func[X, Y] = image[X, Y] + X
    r = RDom([(1, rng.randint(2, 6))], "r")
    form = rng.choice(("down", "across", "row", "column"))
    if form == "down":
        func[X, r.x] = func[X, r.x - 1] * 2 + func[X, r.x]
    elif form == "across":
        func[r.x, Y] = func[r.x - 1, Y] + func[r.x, Y] * 3
    elif form == "row":
        func[X, 2] = func[X, 2] * 2 + r.x
    else:
        func[3, Y] += image[r.x, Y]
    if rng.random() < 0.3:
        return func
    out[X, Y] = func[X, Y] + func[_tap(rng, X, 1), _tap(rng, Y, 1)] * 2
    return out


def _two_outputs(rng: random.Random) -> Made:
    """Two outputs; the second may read the first."""
    if rng.random() < 0.4:
        return siblings(rng)
    image = ImageParam(rng.choice((Int32, UInt16)), 2, "input")
    base, one, two = Func("base"), Func("one"), Func("two")
    base[X, Y] = image[X, Y] + image[_tap(rng, X), Y] * 2
    one[X, Y] = _sum(rng, base, 2, (X, Y))
    two[X, Y] = _sum(rng, base, 1, (X, Y)) + cast(image.type, Y)
    return [one, two]


def _diamonds(rng: random.Random) -> Made:
    """A Func with several readers, which one output reads."""
    image = ImageParam(Int32, 2, "input")
    base, left, right, out = Func("base"), Func("left"), Func("right"), Func("out")
    base[X, Y] = image[X, Y] * 2 - Y
    left[X, Y] = _sum(rng, base, 2, (X, Y))
    right[X, Y] = _sum(rng, base, rng.randint(1, 2), (X, Y)) + image[Y, X]
    out[X, Y] = left[_tap(rng, X, 1), Y] + right[X, Y] * 2
    if rng.random() < 0.3:
        out[X, Y] = out[X, Y] - base[X, Y]
    return out


def _lines(rng: random.Random) -> Made:
    """One dimension: stencils, steps of two, and a transposed sum."""
    image = ImageParam(rng.choice((Int32, Int16, UInt8)), 1, "input")
    first, second, out = Func("first"), Func("second"), Func("out")
    first[X] = cast(Int32, image[X]) + image[_tap(rng, X)]
    second[X] = first[X * 2] - first[X * 2 + 1] if rng.random() < 0.4 else first[_tap(rng, X)] * 2
    out[X] = _sum(rng, second, rng.randint(1, 3), (X,))
    if rng.random() < 0.3:
        r = RDom([(0, rng.randint(1, 4))], "r")
        out[X] += second[X + r.x] * (r.x + 1)
    return out


def _volumes(rng: random.Random) -> Made:
    """Three dimensions, one of them short."""
    image = ImageParam(rng.choice((UInt8, Int32)), 3, "input")
    first, out = Func("first"), Func("out")
    first[X, Y, Z] = cast(Int32, image[_tap(rng, X), Y, Z]) * 2 + Z
    out[X, Y, Z] = _sum(rng, first, rng.randint(1, 2), (X, Y, Z))
    if rng.random() < 0.3:
        flat = Func("flat")
        flat[X, Y] = out[X, Y, 0] - out[X, Y, 1]
        return flat
    return out


def _tuples(rng: random.Random) -> Made:
    """Values that change places, the best of a window, sums or products of two, and what reads
    them.
    """
    image = ImageParam(rng.choice((UInt8, Int32)), 2, "input")
    pair, out = Func("pair"), Func("out")
    r = RDom([(rng.randint(-1, 1), rng.choice((1, 2, 3))), (0, rng.choice((1, 2)))], "r")
    value = cast(Int32, image[X + r.x, Y + r.y])
    form = rng.choice(("swap", "ordered", "best", "sums", "product"))
    if form == "best":
        pair[X, Y] = (0, -100) if rng.random() < 0.5 else (X, Y)
        better = value > pair[X, Y][1]
        pair[X, Y] = (
            fn.select(better, r.x * 4 + r.y, pair[X, Y][0]),
            fn.select(better, value, pair[X, Y][1]),
        )
    elif form == "product":
        pair[X, Y] = (cast(Int32, image[_tap(rng, X), Y]), X - Y)
        real, other = pair[X, Y]
        first, second = value % 3 - 1, r.x % 2 + 1  # small: loop nests are run without wrapping
        pair[X, Y] = (real * first - other * second, other * first + real * second)
    else:
        pair[X, Y] = (cast(Int32, image[_tap(rng, X), Y]), cast(Int16, X - Y))
        first, second = pair[X, Y]
        if form == "swap":
            pair[X, Y] = (cast(Int32, second) * 3, cast(Int16, first + Y))
        elif form == "ordered":
            pair[X, Y] = (first * 2 + second, cast(Int16, value - first))
        else:
            pair[X, Y] += (value, cast(Int16, r.x + 1))
    if rng.random() < 0.3:
        return pair
    out[X, Y] = pair[_tap(rng, X, 1), Y][0] + cast(Int32, pair[X, _tap(rng, Y, 1)][1]) * 2
    return out if rng.random() < 0.8 else [out, pair]


def _predicates(rng: random.Random) -> Made:
    """An update that leaves out points: by coordinates, by the image, by itself."""
    image = ImageParam(rng.choice((UInt8, Int32)), 2, "input")
    total, out = Func("total"), Func("out")
    total[X, Y] = cast(Int32, image[X, Y]) + X
    r = RDom([(rng.randint(-1, 1), rng.choice((2, 3, 4))), (1, rng.choice((1, 2, 3)))], "r")
    form = rng.choice(("sum", "sum", "ordered", "ordered", "scatter", "scan"))
    row = Y if form in ("sum", "ordered") else r.y
    value = cast(Int32, image[X + r.x, row + r.y])
    tests: list[Callable[[], Expr]] = [
        lambda: r.x <= r.y + rng.randint(-1, 1),
        lambda: r.x + X > row,
        lambda: (X + r.y) % 3 != 1,
        lambda: value > rng.choice((0, 20)),
        lambda: total[X, row] < 60,
        lambda: (r.y >= 2) | (image[X, row] > 30),
    ]
    for test in rng.sample(tests, rng.choice((1, 1, 2, 2, 3))):
        r.where(test())
    if form == "sum":
        total[X, Y] += value
    elif form == "ordered":
        total[X, Y] = total[X, Y] * 2 + value
    elif form == "scatter":
        total[X, fn.clamp(cast(Int32, image[r.x, r.y]), 0, 3)] += r.x + 1
    else:
        total[X, r.y] = total[X, r.y - 1] + r.x * 3
    if rng.random() < 0.3:
        return total
    out[X, Y] = _sum(rng, total, rng.randint(1, 2), (X, Y))
    return out


def _named_domains(rng: random.Random) -> Made:
    """A reduction over a domain that is named inside an update over another, and what reads it."""
    image = ImageParam(rng.choice((UInt8, Int32)), 2, "input")
    total, out = Func("total"), Func("out")
    inner = RDom([(rng.randint(-1, 1), rng.choice((1, 2, 3)))], "inner")
    outer = RDom([(0, rng.choice((1, 2, 3)))], "outer")
    value = cast(Int32, image[X + inner, Y + outer]) * (inner + 2) - outer
    forms: list[Callable[[], Expr]] = [
        lambda: reductions.sum(inner, value),
        lambda: reductions.maximum(inner, value),
        lambda: reductions.minimum(inner, value, "least"),
        lambda: reductions.argmin(inner, value)[rng.choice((0, 1))],
        lambda: reductions.sum(inner, cast(Int32, image[X, Y + outer])),
    ]
    total[X, Y] = X - Y
    reduced = rng.choice(forms)()
    total[X, Y] = total[X, Y] * 2 + reduced if rng.random() < 0.5 else total[X, Y] + reduced
    if rng.random() < 0.3:
        return total
    out[X, Y] = _sum(rng, total, rng.randint(1, 2), (X, Y))
    return out


def _hints(rng: random.Random) -> Made:
    """What is likely in values and in coordinates, what is required, counted and widened."""
    image = ImageParam(rng.choice((UInt8, UInt16)), 2, "input")
    first, out = Func("first"), Func("out")
    low, high = rng.randint(-4, 2), rng.randint(3, 9)
    place = rng.choice(
        (
            fn.clamp(fixed.likely(X), low, high),
            fn.max(fixed.likely_if_innermost(X) + 1, low),
            fn.select(X + Y > low, fixed.likely(X), 2),
            fn.select(fixed.likely(X < high), X - 1, Y),
        )
    )
    if rng.random() < 0.3:  # coordinates that read say what is likely, too
        place = fn.clamp(place + cast(Int32, image[fn.max(fixed.likely(X), low), Y]), low, high)
    pixel = image[place, _tap(rng, Y)]
    first[X, Y] = rng.choice(
        (
            cast(Int32, fixed.widening_shift_left(pixel, rng.randint(0, 5))),
            cast(Int32, fixed.widening_shift_right(pixel, cast(pixel.type, Y % 5))),
            cast(Int32, fixed.popcount(pixel)) * fixed.likely(X),
            fn.select(X > low, fixed.likely(cast(Int32, pixel)), Y),
        )
    )
    value = _sum(rng, first, rng.randint(1, 2), (X, Y))
    if rng.random() < 0.3:
        value = require(X + Y > -1000, value, "There is", value, "at", X, Y)
    out[X, Y] = value
    return out


def _partial(rng: random.Random) -> Made:
    """A definition that gives a value in some places, and an update that does in the others, or
    else it is read in these places only.
    """
    image = ImageParam(Int32, 2, "input")
    part, out = Func("part"), Func("out")
    tests = (X + Y > 3, image[X, Y] > 10, (X % 3 == 0) | (Y < 2))
    test, nothing = rng.choice(tests), undef(Int32)
    part[X, Y] = fn.select(test, image[_tap(rng, X), Y], nothing) + Y
    if rng.random() < 0.4:
        out[X, Y] = fn.select(test, part[X, Y] - 1, X)
        return out
    part[X, Y] = fn.select(test, nothing, X * 2)
    if rng.random() < 0.4:
        part[X, Y] = fn.select(rng.choice(tests), part[X, Y] * 3, nothing)
    if rng.random() < 0.3:
        return part
    out[X, Y] = _sum(rng, part, rng.randint(1, 2), (X, Y))
    return out


KINDS: dict[str, Callable[[random.Random], Made]] = {
    "pointwise": _pointwise,
    "fixed point": _fixed_point,
    "stencil": _stencils,
    "boundary": _boundaries,
    "resampled": _resampled,
    "lookup": _lookups,
    "reduction": _reductions,
    "scatter": _scatters,
    "scan": _scans,
    "two outputs": _two_outputs,
    "diamond": _diamonds,
    "line": _lines,
    "volume": _volumes,
    "tuple": _tuples,
    "predicate": _predicates,
    "named domain": _named_domains,
    "hint": _hints,
    "partial": _partial,
    "diagonal": diagonal,
    "sheared": sheared,
}
"""How to draw the pipelines of each kind."""
