"""Further programs: each has operators, updates or directives that the others lack."""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs.case import Case, pixels, program

x, y, z, xi, yi, xo, yo = (hl.Var(name) for name in ("x", "y", "z", "xi", "yi", "xo", "yo"))


@program
def searched(rng: np.random.Generator, scheduled: bool) -> Case:
    """Halide's inline searches and products, in one Func of several values."""
    table = hl.ImageParam(hl.Int(16), 2, "table")
    r = hl.RDom([(0, 7)], "r")
    best, worst, out = hl.Func("best"), hl.Func("worst"), hl.Func("searched")
    best[y] = hl.argmax(table[r, y])
    worst[y] = hl.argmin(table[r, y] >> 4)
    factors = hl.product(hl.i32(table[r, y] & 3) + 1)
    out[y] = (best[y][0] * 10 + worst[y][0], best[y][1] - worst[y][1], factors)
    if scheduled:
        best.compute_root().vectorize(y, 4)
        worst.compute_at(out, y)
        out.parallel(y)
    return Case([out], [[(0, 18)]], [(table, pixels(rng, "int16", 7, 18))])


@program
def scattered(rng: np.random.Generator, scheduled: bool) -> Case:
    """Values that are stored where an image says, some of them more than once."""
    places = hl.ImageParam(hl.UInt(8), 1, "places")
    values = hl.ImageParam(hl.Int(32), 1, "values")
    r = hl.RDom([(0, 60)], "r")
    out = hl.Func("scattered")
    out[x] = -1
    at = hl.clamp(hl.i32(places[r]) // 4, 0, 63)
    out[at] = hl.max(out[at], values[r])
    out[x] = hl.select(out[x] < 0, x, out[x])
    if scheduled:
        out.vectorize(x, 8)
        out.update(0).unroll(r, 4)
        out.update(1).vectorize(x, 8).parallel(x)
    data = [(places, pixels(rng, "uint8", 60)), (values, pixels(rng, "int32", 60))]
    return Case([out], [[(0, 64)]], data)


@program
def tails(rng: np.random.Generator, scheduled: bool) -> Case:
    """Splits of all tails, over extents that no factor divides."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    first, second, out = hl.Func("first"), hl.Func("second"), hl.Func("tails")
    first[x, y] = photo[x, y] + hl.u8(1)
    second[x, y] = first[x, y] ^ hl.u8(y)
    second[x, y] += hl.u8(x)
    second[x, y] = second[x, y] * 3
    second[x, y] -= hl.u8(7)
    out[x, y] = second[x, y] - first[x, y]
    first.compute_root()
    second.compute_root()
    if scheduled:
        first.vectorize(x, 8, hl.TailStrategy.PredicateLoads)
        first.parallel(y, 4, hl.TailStrategy.Predicate)
        second.vectorize(x, 8, hl.TailStrategy.RoundUp)
        second.update(0).vectorize(x, 8, hl.TailStrategy.ShiftInwardsAndBlend)
        second.update(1).vectorize(x, 8, hl.TailStrategy.RoundUpAndBlend).unroll(y, 2)
        second.update(2).vectorize(x, 16, hl.TailStrategy.PredicateStores)
        out.vectorize(x, 16, hl.TailStrategy.GuardWithIf)
        out.split(y, yo, yi, 3, hl.TailStrategy.ShiftInwards)
    return Case([out], [[(0, 45), (0, 14)]], [(photo, pixels(rng, "uint8", 64, 24))])


@program
def kept(rng: np.random.Generator, scheduled: bool) -> Case:
    """A table that depends on Params alone, kept for later calls."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    gamma, shift = hl.Param(hl.Float(32), "gamma"), hl.Param(hl.Int(16), "shift")
    curve, out = hl.Func("curve"), hl.Func("kept")
    curve[x] = hl.u8_sat(hl.round(hl.sqrt(hl.f32(x)) * gamma) + hl.f32(shift))
    out[x, y] = curve[hl.i32(photo[x, y])]
    curve.compute_root()
    if scheduled:
        curve.memoize().vectorize(x, 16)
        out.parallel(y).vectorize(x, 8)
    params = [(gamma, 9.5), (shift, -3)]
    return Case([out], [[(0, 30), (0, 9)]], [(photo, pixels(rng, "uint8", 30, 9))], params)


@program
def stages(rng: np.random.Generator, scheduled: bool) -> Case:
    """A chain of Funcs, each computed in loops of the one before, in different memories."""
    photo = hl.ImageParam(hl.Int(32), 2, "photo")
    funcs = []
    last = photo
    for number in range(5):
        func = hl.Func(f"stage_{number}")
        func[x, y] = last[x + 1, y] * 3 - (last[x, y + number % 2] >> 1)
        funcs.append(func)
        last = func
    if scheduled:
        a, b, c, d, out = funcs
        out.tile(x, y, xo, yo, xi, yi, 16, 4).parallel(yo)
        d.compute_at(out, xo).vectorize(x, 8).store_in(hl.MemoryType.Stack)
        c.compute_at(out, xo).store_at(out, yo).hoist_storage(out, yo)
        b.compute_at(c, y).vectorize(x, 4).store_in(hl.MemoryType.Heap)
        a.compute_root().reorder(y, x).reorder_storage(y, x).align_storage(y, 8)
    return Case([last], [[(0, 40), (0, 18)]], [(photo, pixels(rng, "int32", 60, 30))])


@program
def hinted(rng: np.random.Generator, scheduled: bool) -> Case:
    """Hints about what is likely, and about where a coordinate lies."""
    photo = hl.ImageParam(hl.Int(16), 1, "photo")
    out, inner = hl.Func("hinted"), hl.Func("inner")
    inside = hl.likely((x > 2) & (x < 20))
    inner[x] = hl.select(inside, photo[hl.clamp(x, 0, 31)], hl.i16(x))
    near = hl.likely_if_innermost(hl.max(x - 1, 0))
    out[x] = inner[near] + inner[hl.unsafe_promise_clamped(x, 0, 63)]
    if scheduled:
        inner.compute_at(out, xo).vectorize(x, 8)
        out.split(x, xo, xi, 8).never_partition([xo])
    return Case([out], [[(0, 40)]], [(photo, pixels(rng, "int16", 32))])


@program
def two_sizes(rng: np.random.Generator, scheduled: bool) -> Case:
    """Outputs of unlike sizes: pairs of sums, and the whole sum of them."""
    photo = hl.ImageParam(hl.UInt(16), 2, "photo")
    r = hl.RDom([(0, 4), (0, 4)], "r")
    sums, total = hl.Func("sums"), hl.Func("total")
    sums[x, y] = (hl.u32(0), hl.f64(0))
    value = photo[4 * x + r.x, 4 * y + r.y]
    sums[x, y] = (sums[x, y][0] + value, sums[x, y][1] + hl.f64(value) * 0.5)
    all_ = hl.RDom([(0, 6), (0, 5)], "all")
    total[()] = hl.u64(0)
    total[()] += hl.u64(sums[all_.x, all_.y][0])
    if scheduled:
        sums.compute_root().update().reorder(x, r.x, r.y, y).parallel(y)
        sums.update().vectorize(x, 4, hl.TailStrategy.GuardWithIf)
        total.update().reorder(all_.y, all_.x)
    sizes = [[(0, 6), (0, 5)], []]
    return Case([sums, total], sizes, [(photo, pixels(rng, "uint16", 32, 32))])


@program
def shared_parts(rng: np.random.Generator, scheduled: bool) -> Case:
    """An expression that is a small graph, but a large tree."""
    data = hl.ImageParam(hl.UInt(32), 1, "data")
    part = data[x] + hl.u32(x)
    for step in range(24):
        part = (part * part + hl.u32(step)) ^ (part >> 3)
    out = hl.Func("shared_parts")
    out[x] = part
    if scheduled:
        out.vectorize(x, 8).parallel(x)
    return Case([out], [[(0, 64)]], [(data, pixels(rng, "uint32", 64))])


@program
def updates_together(rng: np.random.Generator, scheduled: bool) -> Case:
    """Two reductions over the same picture, whose updates share their loops."""
    photo = hl.ImageParam(hl.Int(32), 2, "photo")
    r = hl.RDom([(0, 6)], "r")
    plus, times, out = hl.Func("plus"), hl.Func("times"), hl.Func("updates_together")
    plus[x, y] = x
    plus[x, y] += photo[x + r, y]
    times[x, y] = y
    times[x, y] += photo[x + r, y] * r
    out[x, y] = plus[x, y] ^ times[x, y]
    plus.compute_root()
    times.compute_root()
    if scheduled:
        times.compute_with(plus, x)
        times.update().compute_with(plus.update(), r)
        out.compute_root().vectorize(x, 4)
    return Case([out], [[(0, 16), (0, 7)]], [(photo, pixels(rng, "int32", 24, 7))])


@program
def in_turn(rng: np.random.Generator, scheduled: bool) -> Case:
    """Rows that are kept for several iterations, in memory that is obtained once, and one that may
    be computed beside its readers.
    """
    photo = hl.ImageParam(hl.Int(16), 2, "photo")
    rows, columns, out = hl.Func("rows"), hl.Func("columns"), hl.Func("in_turn")
    rows[x, y] = photo[x, y] ^ photo[x + 1, y]
    columns[x, y] = hl.max(rows[x, y], rows[x, y + 1])
    out[x, y] = columns[x, y] + columns[x + 2, y]
    if scheduled:
        out.split(y, yo, yi, 3, hl.TailStrategy.GuardWithIf).vectorize(x, 8)
        columns.compute_at(out, yo).hoist_storage_root().ring_buffer(2).async_()
        rows.compute_at(out, yo).store_root().async_().align_extent(x, 8)
    return Case([out], [[(0, 24), (0, 14)]], [(photo, pixels(rng, "int16", 40, 20))])


@program
def last_largest(rng: np.random.Generator, scheduled: bool) -> Case:
    """The place of the largest of many equal values, the last one, found in parts."""
    table = hl.ImageParam(hl.UInt(8), 2, "table")
    r = hl.RDom([(0, 48)], "r")
    out = hl.Func("last_largest")
    out[y] = (hl.u8(0), hl.i32(0))
    value = table[r, y] & 3
    out[y] = (hl.max(out[y][0], value), hl.select(out[y][0] > value, out[y][1], r))
    if scheduled:
        ro, ri, part = hl.RVar("ro"), hl.RVar("ri"), hl.Var("part")
        out.specialize(table.width() > 40).vectorize(y, 4)
        out.specialize_fail("The table is too narrow.")
        out.update().split(r, ro, ri, 8)
        partial = out.update().rfactor(ro, part)
        partial.compute_root().update().vectorize(part, 2)
    return Case([out], [[(0, 9)]], [(table, pixels(rng, "uint8", 48, 9))])
