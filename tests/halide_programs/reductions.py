"""Programs with updates: histograms, scans, sums, products and searches."""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs.case import Case, pixels, program

x, y, k, xo, xi, u = (hl.Var(name) for name in ("x", "y", "k", "xo", "xi", "u"))


@program
def equalized(rng: np.random.Generator, scheduled: bool) -> Case:
    """A histogram, its running sum, and the picture with equal shares of all values."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    counts, running, out = hl.Func("counts"), hl.Func("running"), hl.Func("equalized")
    area = hl.RDom([(0, photo.width()), (0, photo.height())], "area")
    counts[k] = 0
    counts[hl.i32(photo[area.x, area.y])] += 1
    steps = hl.RDom([(1, 255)], "steps")
    running[k] = counts[k]
    running[steps.x] += running[steps.x - 1]
    total = photo.width() * photo.height()
    out[x, y] = hl.u8(hl.clamp(running[hl.i32(photo[x, y])] * 255 // total, 0, 255))
    counts.compute_root()
    running.compute_root()
    if scheduled:
        counts.vectorize(k, 8)
        counts.update().atomic().parallel(area.y)
        running.parallel(k, 64)
        out.split(x, xo, xi, 16).vectorize(xi).unroll(xo, 2)
    width, height = rng.integers(17, 24, 2)
    values = pixels(rng, "uint8", width, height)
    return Case([out], [[(0, width), (0, height)]], [(photo, values)])


@program
def triangle(rng: np.random.Generator, scheduled: bool) -> Case:
    """A sum over a part of a square, whose size is a Param."""
    weights = hl.ImageParam(hl.Int(32), 2, "weights")
    size = hl.Param(hl.Int(32), "size")
    size.set_range(1, 12)
    r = hl.RDom([(0, size), (0, 12)], "r")
    r.where(r.x + r.y < size)
    r.where((r.x & 1) == 0)
    out = hl.Func("triangle")
    out[x] = size * x
    out[x] += weights[x + r.x, r.y] * (r.y + 1)
    if scheduled:
        out.vectorize(x, 4)
        out.update().reorder(r.y, x, r.x).unroll(r.y, 3)
    values = pixels(rng, "int32", 50, 12)
    return Case(
        [out],
        [[(0, 30)]],
        [(weights, values)],
        [(size, int(rng.integers(3, 12)))],
        lost=("promises",),
    )


@program
def extremes(rng: np.random.Generator, scheduled: bool) -> Case:
    """The place and the value of the largest element of each row, and the sum of the row, from one
    Func of two values and one of one.
    """
    table = hl.ImageParam(hl.Int(16), 2, "table")
    r = hl.RDom([(0, 37)], "r")
    largest, total = hl.Func("largest"), hl.Func("total")
    largest[y] = (hl.i32(-1), hl.i16(-32768))
    value = table[r, y]
    better = value > largest[y][1]
    largest[y] = (hl.select(better, r, largest[y][0]), hl.select(better, value, largest[y][1]))
    total[y] = hl.i64(0)
    total[y] += hl.i64(value) * value
    if scheduled:
        largest.compute_root().update().vectorize(y, 4)
        total.compute_root().vectorize(y, 4)
        total.update().split(r, hl.RVar("ro"), hl.RVar("ri"), 8).parallel(y)
    ranges = [(0, 20)]
    return Case([largest, total], [ranges, ranges], [(table, pixels(rng, "int16", 37, 20))])


@program
def product(rng: np.random.Generator, scheduled: bool) -> Case:
    """A product of matrices, in blocks; the sum of each block by itself."""
    a, b = hl.ImageParam(hl.Int(32), 2, "a"), hl.ImageParam(hl.Int(32), 2, "b")
    r = hl.RDom([(0, 24)], "r")
    out = hl.Func("product")
    out[x, y] = 0
    out[x, y] += a[r, y] * b[x, r]
    if scheduled:
        ro, ri = hl.RVar("ro"), hl.RVar("ri")
        out.update().split(r, ro, ri, 7)  # the last part is not whole
        partial = out.update().rfactor(ro, u)
        partial.compute_root().vectorize(x, 8).update().vectorize(x, 8).unroll(ri, 2)
        out.parallel(y).update().parallel(y)
    return Case(
        [out],
        [[(0, 17), (0, 19)]],
        [(a, pixels(rng, "int32", 24, 19)), (b, pixels(rng, "int32", 24, 24))],
    )


@program
def inner_sums(rng: np.random.Generator, scheduled: bool) -> Case:
    """Reductions inside of expressions, to which nobody has given a place."""
    photo = hl.ImageParam(hl.Int(32), 2, "photo")
    r = hl.RDom([(-1, 3), (-1, 3)], "r")
    rows = hl.Func("rows")
    rows[x, y] = hl.sum(photo[x + r.x, y + r.y]) + hl.maximum(photo[x + r.x, y + r.y] // 2)
    out = hl.Func("inner_sums")
    out[x, y] = rows[x, y] - hl.minimum(rows[x + r.x, y])
    if scheduled:
        rows.compute_root()
        out.parallel(y)
    return Case([out], [[(2, 12), (2, 9)]], [(photo, pixels(rng, "int32", 18, 13))])


@program
def smoothed(rng: np.random.Generator, scheduled: bool) -> Case:
    """A filter that runs along lines there and back, which leaves out part of the values."""
    sound = hl.ImageParam(hl.Float(32), 2, "sound")
    rate = hl.Param(hl.Float(32), "rate")
    there = hl.RDom([(1, 39)], "there")
    back = hl.RDom([(0, 39)], "back")
    out = hl.Func("smoothed")
    out[x, y] = hl.undef(hl.Float(32))
    out[0, y] = sound[0, y]
    out[there, y] = sound[there, y] * rate + out[there - 1, y] * (1 - rate)
    kept = out[38 - back, y] * rate + out[39 - back, y] * (1 - rate)
    out[38 - back, y] = hl.select(kept > -0.5, kept, hl.undef(hl.Float(32)))
    if scheduled:
        for update in range(3):
            out.update(update).vectorize(y, 4)
        out.vectorize(x, 8)
    return Case(
        [out],
        [[(0, 40), (0, 12)]],
        [(sound, pixels(rng, "float32", 40, 12))],
        [(rate, 0.3)],
    )
