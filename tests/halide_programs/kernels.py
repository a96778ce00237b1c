"""Programs whose schedules are for GPUs. They stand apart from the others, as a CPU runs none of
these schedules.
"""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs.case import Case, Program, pixels

x, y, z, xo, yo, xi, yi, zi, u = (
    hl.Var(name) for name in ("x", "y", "z", "xo", "yo", "xi", "yi", "zi", "u")
)

KERNELS: dict[str, Program] = {}


def kernel(function: Program) -> Program:
    """Adds a function to the programs."""
    KERNELS[function.__name__] = function
    return function


@kernel
def shared_tile(rng: np.random.Generator, scheduled: bool) -> Case:
    """Columns of a blur in shared memory, for tiles of its rows; the input in a kernel before."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    wide, columns, out = hl.Func("wide"), hl.Func("columns"), hl.Func("shared_tile")
    wide[x, y] = hl.u16(photo[hl.clamp(x, 0, 40), hl.clamp(y, 0, 22)])
    columns[x, y] = wide[x, y - 1] + 2 * wide[x, y] + wide[x, y + 1]
    out[x, y] = columns[x - 1, y] + 2 * columns[x, y] + columns[x + 1, y]
    if scheduled:
        out.gpu_tile(x, y, xi, yi, 16, 4, hl.TailStrategy.GuardWithIf)
        columns.compute_at(out, x).gpu_threads(x, y)
        wide.compute_root().gpu_tile(x, y, xi, yi, 8, 8)
    return Case([out], [[(0, 41), (0, 23)]], [(photo, pixels(rng, "uint8", 41, 23))])


@kernel
def lanes_of_warps(rng: np.random.Generator, scheduled: bool) -> Case:
    """Lanes of a warp along x and threads along y, and a Func stored for a whole block."""
    photo = hl.ImageParam(hl.Int(32), 2, "photo")
    inner, out = hl.Func("inner"), hl.Func("lanes_of_warps")
    inner[x, y] = photo[x, y] * 3 - photo[x, y + 1]
    out[x, y] = inner[x, y] ^ inner[x, y + 1]
    if scheduled:
        out.tile(x, y, xi, yi, 16, 4).gpu_blocks(x, y).gpu_threads(yi).gpu_lanes(xi)
        inner.compute_at(out, x).gpu_threads(y).gpu_lanes(x)
    return Case([out], [[(0, 37), (0, 14)]], [(photo, pixels(rng, "int32", 48, 24))])


@kernel
def matrices(rng: np.random.Generator, scheduled: bool) -> Case:
    """A product of matrices: sums in registers, and a strip of one matrix in shared memory."""
    a, b = hl.ImageParam(hl.Int(32), 2, "a"), hl.ImageParam(hl.Int(32), 2, "b")
    r = hl.RDom([(0, 12)], "r")
    sums, out = hl.Func("sums"), hl.Func("matrices")
    sums[x, y] += a[r, y] * b[x, r]
    out[x, y] = sums[x, y]
    if scheduled:
        out.tile(x, y, xo, yo, xi, yi, 8, 8).split(yi, yi, u, 2)
        out.reorder(u, xi, yi, xo, yo).unroll(u).gpu_blocks(xo, yo).gpu_threads(xi, yi)
        sums.compute_at(out, xi).store_in(hl.MemoryType.Register).unroll(y).unroll(x)
        sums.update().reorder(x, y, r).unroll(y).unroll(x)
        a.in_().compute_at(out, xo).gpu_threads(hl._0, hl._1)
    data = [(a, pixels(rng, "int32", 12, 16)), (b, pixels(rng, "int32", 16, 12))]
    return Case([out], [[(0, 16), (0, 16)]], data)


@kernel
def counted(rng: np.random.Generator, scheduled: bool) -> Case:
    """A histogram by atomic updates of many threads, and its running sum by one thread."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    counts, out = hl.Func("counts"), hl.Func("counted")
    area = hl.RDom([(0, 24), (0, 10)], "area")
    steps = hl.RDom([(1, 63)], "steps")
    counts[x] = 0
    counts[hl.i32(photo[area.x, area.y]) // 4] += 1
    out[x] = counts[x]
    out[steps.x] += out[steps.x - 1]
    if scheduled:
        counts.compute_root().gpu_tile(x, xi, 16)
        counts.update().atomic().gpu_blocks(area.y).gpu_threads(area.x)
        out.gpu_tile(x, xi, 32).update().gpu_single_thread()
    return Case([out], [[(0, 64)]], [(photo, pixels(rng, "uint8", 24, 10))])


@kernel
def parts(rng: np.random.Generator, scheduled: bool) -> Case:
    """Sums of rows in parts, each by a thread; the parts together on the CPU."""
    table = hl.ImageParam(hl.Int(32), 2, "table")
    r = hl.RDom([(0, 40)], "r")
    out = hl.Func("parts")
    out[y] = y
    out[y] += table[r, y] * r
    if scheduled:
        ro, ri = hl.RVar("ro"), hl.RVar("ri")
        partial = out.update().split(r, ro, ri, 8).rfactor(ro, u)
        partial.compute_root().gpu_tile(y, u, yi, zi, 4, 4)
        partial.update().gpu_tile(y, u, yi, zi, 4, 4, hl.TailStrategy.GuardWithIf)
    return Case([out], [[(0, 9)]], [(table, pixels(rng, "int32", 40, 9))])


@kernel
def by_width(rng: np.random.Generator, scheduled: bool) -> Case:
    """Blocks of other shapes for wide pictures; a part on the CPU, which may run beside it."""
    photo = hl.ImageParam(hl.Int(16), 2, "photo")
    first, out = hl.Func("first"), hl.Func("by_width")
    first[x, y] = photo[x, y] | hl.i16(1)
    out[x, y] = hl.max(first[x, y], first[x + 1, y])
    if scheduled:
        first.compute_root().vectorize(x, 8).async_()
        wide = out.specialize(photo.width() > 30)
        wide.gpu_tile(x, y, xi, yi, 32, 2)
        out.gpu_tile(x, y, xi, yi, 8, 4, hl.TailStrategy.GuardWithIf)
    width = int(rng.choice((20, 40)))
    values = pixels(rng, "int16", width + 1, 9)
    return Case([out], [[(0, width), (0, 9)]], [(photo, values)])


@kernel
def boxes(rng: np.random.Generator, scheduled: bool) -> Case:
    """Three dimensions of blocks and threads; two loops fused, and one vectorized in a thread."""
    data = hl.ImageParam(hl.UInt(8), 3, "data")
    soft, out = hl.Func("soft"), hl.Func("boxes")
    soft[x, y, z] = hl.u16(data[x, y, z]) + data[x, y, z + 1]
    out[x, y, z] = hl.u8(soft[x, y, z] >> 1) + hl.u8(z)
    if scheduled:
        out.gpu_tile(x, y, z, xi, yi, zi, 8, 2, 2, hl.TailStrategy.GuardWithIf)
        soft.compute_root().fuse(y, z, u).split(x, x, xi, 4, hl.TailStrategy.RoundUp)
        soft.vectorize(xi).gpu_blocks(u).gpu_tile(x, xo, 4)
    data_of = [(data, pixels(rng, "uint8", 32, 8, 8))]
    return Case([out], [[(0, 19), (0, 5), (0, 5)]], data_of)


@kernel
def best_of_rows(rng: np.random.Generator, scheduled: bool) -> Case:
    """Values of a Tuple in kernels, in two outputs of one and of two values."""
    table = hl.ImageParam(hl.Int(16), 2, "table")
    r = hl.RDom([(0, 21)], "r")
    best, total = hl.Func("best"), hl.Func("total")
    value = table[r, y]
    best[y] = (hl.i32(-1), hl.i16(-32768))
    better = value > best[y][1]
    best[y] = (hl.select(better, r, best[y][0]), hl.select(better, value, best[y][1]))
    total[y] = hl.i64(0)
    total[y] += hl.i64(value)
    if scheduled:
        for func in (best, total):
            func.compute_root().gpu_tile(y, yi, 8)
            func.update().gpu_tile(y, yi, 8, hl.TailStrategy.GuardWithIf)
    ranges = [(0, 19)]
    return Case([best, total], [ranges, ranges], [(table, pixels(rng, "int16", 21, 19))])
