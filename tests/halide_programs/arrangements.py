"""Programs that need what schedules and whole pipelines may say."""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs.case import Case, pixels, program

x, y, z, w, xi, yi, t = (hl.Var(name) for name in ("x", "y", "z", "w", "xi", "yi", "t"))


@program
def wrapped(rng: np.random.Generator, scheduled: bool) -> Case:
    """Two readers of one Func; with wrappers and a clone where there is a schedule."""
    photo = hl.ImageParam(hl.Int(32), 2, "photo")
    shared, left, right, out = (hl.Func(n) for n in ("shared", "left", "right", "wrapped"))
    shared[x, y] = photo[x, y] * 3 + y
    left[x, y] = shared[x - 1, y] + shared[x, y]
    right[x, y] = shared[x + 1, y] - shared[x, y - 1]
    out[x, y] = left[x, y] * right[x, y]
    if scheduled:
        shared.compute_root()
        shared.clone_in(right).compute_root().parallel(y)
        shared.in_(left).compute_at(out, y).vectorize(x, 4)
        photo.in_().compute_root().vectorize(hl._0, 8)
        left.compute_at(out, y)
        right.compute_at(out, x)
    return Case([out], [[(1, 20), (1, 15)]], [(photo, pixels(rng, "int32", 23, 18))])


@program
def specialized(rng: np.random.Generator, scheduled: bool) -> Case:
    """A program with other loops for some values of its Params and sizes, and with requirements."""
    photo = hl.ImageParam(hl.UInt(16), 2, "photo")
    gain = hl.Param(hl.Int(32), "gain")
    fast = hl.Param(hl.Bool(), "fast")
    out = hl.Func("specialized")
    out[x, y] = hl.u16(hl.require(gain > 0, photo[x, y], gain) * gain)
    if scheduled:
        out.specialize(fast & (gain == 2)).vectorize(x, 8)
        out.specialize(photo.width() > 30).tile(x, y, xi, yi, 8, 4).unroll(yi)
        out.parallel(y)
    width = int(rng.integers(25, 40))
    return Case(
        [out],
        [[(0, width), (0, 9)]],
        [(photo, pixels(rng, "uint16", width, 9))],
        [(gain, 2), (fast, bool(rng.integers(0, 2)))],
        requirements=[(photo.width() > 3, "The picture is too narrow.")],
    )


@program
def volume(rng: np.random.Generator, scheduled: bool) -> Case:
    """Four dimensions, with loops fused and split again."""
    data = hl.ImageParam(hl.UInt(8), 4, "data")
    soft, out = hl.Func("soft"), hl.Func("volume")
    soft[x, y, z, w] = hl.u16(data[x, y, z, w]) + data[x, y, z + 1, w]
    out[x, y, z, w] = hl.u8(soft[x, y, z, w] >> 1) + hl.u8(w)
    if scheduled:
        out.fuse(z, w, t).split(t, t, z, 3, hl.TailStrategy.GuardWithIf).parallel(t)
        out.vectorize(x, 8, hl.TailStrategy.ShiftInwards).partition(y, hl.Partition.Never)
        soft.compute_at(out, z).store_at(out, t).align_bounds(x, 4, 1).bound_storage(x, 32)
        soft.never_partition([y])
    return Case(
        [out],
        [[(0, 19), (0, 4), (0, 5), (0, 3)]],
        [(data, pixels(rng, "uint8", 26, 4, 7, 3))],
        mins={"data": (-4, 0, -1, 0)},
    )


@program
def outside(rng: np.random.Generator, scheduled: bool) -> Case:
    """A table computed, and memory obtained, outside all loops of the output."""
    photo = hl.ImageParam(hl.Int(16), 2, "photo")
    table, rows, out = hl.Func("table"), hl.Func("rows"), hl.Func("outside")
    table[x] = hl.i16(x * x)
    rows[x, y] = photo[x, y] + table[y]
    out[x, y] = rows[x, y] - rows[x + 1, y] + table[x & 15]
    if scheduled:
        table.compute_at(out, hl.Var.outermost()).vectorize(x, 4)
        rows.compute_at(out, y).hoist_storage(out, hl.Var.outermost())
        out.vectorize(x, 8, hl.TailStrategy.GuardWithIf)
    return Case([out], [[(0, 30), (0, 16)]], [(photo, pixels(rng, "int16", 31, 16))])


@program
def together(rng: np.random.Generator, scheduled: bool) -> Case:
    """Two outputs, computed in the same loops where there is a schedule."""
    photo = hl.ImageParam(hl.Int(16), 2, "photo")
    bright, dark = hl.Func("bright"), hl.Func("dark")
    bright[x, y] = hl.max(photo[x, y], photo[x + 1, y])
    dark[x, y] = hl.min(photo[x, y], photo[x, y + 1])
    if scheduled:
        bright.compute_root().split(x, x, xi, 4)
        dark.compute_root().split(x, x, xi, 4).compute_with(bright, y)
    ranges = [(0, 16), (0, 11)]
    return Case([bright, dark], [ranges, ranges], [(photo, pixels(rng, "int16", 17, 12))])


@program
def with_tables(rng: np.random.Generator, scheduled: bool) -> Case:
    """An array inside the program, looked up at places that are clamped."""
    table = hl.Buffer(np.arange(64, dtype=np.int32) ** 2 % 97)
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    out, doubled = hl.Func("with_tables"), hl.Func("doubled")
    doubled[x] = table[hl.unsafe_promise_clamped(hl.i32(x), 0, 63)] * 2
    out[x, y] = doubled[hl.clamp(hl.i32(photo[x, y]) // 3, 0, 63)] + table[hl.i32(photo[x, y]) & 63]
    if scheduled:
        doubled.compute_root()
        out.parallel(y)
    return Case([out], [[(0, 21), (0, 8)]], [(photo, pixels(rng, "uint8", 21, 8))])


@program
def single_value(rng: np.random.Generator, scheduled: bool) -> Case:
    """A Func without coordinates, and Vars and loops that have no names."""
    data = hl.ImageParam(hl.Int(32), 1, "data")
    v = hl.Var()
    shifted, out = hl.Func(), hl.Func("single_value")
    r = hl.RDom([(0, 50)])
    shifted[v] = data[v] >> 3
    out[()] = 0
    out[()] += shifted[r] * r
    if scheduled:
        shifted.compute_root().vectorize(v, 8).unroll(v, 2)
        out.update().unroll(r, 5)
    return Case([out], [[]], [(data, pixels(rng, "int32", 50))])
