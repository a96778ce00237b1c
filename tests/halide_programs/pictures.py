"""Programs over pictures: stencils, boundary conditions, pyramids, colours and their layouts."""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs.case import Case, pixels, program

x, y, c, xo, yo, xi, yi = (hl.Var(name) for name in ("x", "y", "c", "xo", "yo", "xi", "yi"))


@program
def edges(rng: np.random.Generator, scheduled: bool) -> Case:
    """Gradients of a picture that is mirrored at its edges, as bytes."""
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    around = hl.BoundaryConditions.mirror_interior(photo)
    rows, both = hl.Func("rows"), hl.Func("edges")
    rows[x, y] = hl.i16(around[x - 1, y]) + 2 * hl.i16(around[x, y]) + hl.i16(around[x + 1, y])
    down = hl.absd(rows[x, y + 1], rows[x, y - 1])
    across = hl.abs(hl.i16(around[x + 1, y]) - hl.i16(around[x - 1, y]))
    both[x, y] = hl.u8_sat((down >> 2) + across)
    if scheduled:
        both.tile(x, y, xo, yo, xi, yi, 32, 8).vectorize(xi, 8).parallel(yo)
        rows.compute_at(both, xo).store_in(hl.MemoryType.Stack).vectorize(x, 8)
    width, height = rng.integers(40, 70, 2)
    return Case([both], [[(0, width), (0, height)]], [(photo, pixels(rng, "uint8", width, height))])


@program
def frames(rng: np.random.Generator, scheduled: bool) -> Case:
    """A picture repeated, mirrored, and inside a frame, each in a part of the sum."""
    photo = hl.ImageParam(hl.Int(16), 2, "photo")
    own = hl.Func("own")
    own[x, y] = photo[x, y] + hl.i16(x * y)
    tiled = hl.BoundaryConditions.repeat_image(photo)
    mirrored = hl.BoundaryConditions.mirror_image(own, [(2, 20), (3, 15)])
    framed = hl.BoundaryConditions.constant_exterior(photo, 77)
    held = hl.BoundaryConditions.repeat_edge(own, [(2, 20), hl.Range()])
    out = hl.Func("frames")
    out[x, y] = (
        tiled[x, y] ^ mirrored[x + 1, y - 1] ^ framed[x - 5, y] ^ held[x, hl.clamp(y, 3, 17)]
    )
    if scheduled:
        out.split(y, yo, yi, 7, hl.TailStrategy.GuardWithIf).reorder(x, yi, yo).parallel(yo)
        mirrored.compute_root().bound_extent(x, 64).align_storage(x, 16)
        framed.compute_at(out, yi).vectorize(hl._0, 4)
    values = pixels(rng, "int16", 26, 21)
    mins = {"photo": (1, 2)}
    return Case([out], [[(-9, 50), (-4, 40)]], [(photo, values)], mins=mins)


@program
def colours(rng: np.random.Generator, scheduled: bool) -> Case:
    """Interleaved colours: channels chosen by their number, exactly three of them."""
    rgb = hl.ImageParam(hl.UInt(8), 3, "rgb")
    rgb.dim(0).set_stride(3)
    rgb.dim(2).set_stride(1).set_bounds(0, 3)
    luma, out = hl.Func("luma"), hl.Func("colours")
    r, g, b = (hl.u16(rgb[x, y, k]) for k in range(3))
    luma[x, y] = hl.u8((r * 77 + g * 151 + b * 28) >> 8)
    out[x, y, c] = hl.mux(
        c,
        [
            luma[x, y],
            hl.halving_add(rgb[x, y, 0], rgb[x, y, 2]),
            hl.lerp(rgb[x, y, 1], luma[x, y], hl.u8(x & 255)),
        ],
    )
    out.output_buffer().dim(0).set_stride(3)
    out.output_buffer().dim(2).set_stride(1).set_bounds(0, 3)
    if scheduled:
        out.reorder(c, x, y).bound(c, 0, 3).unroll(c).vectorize(x, 8)
        luma.compute_at(out, y).vectorize(x, 16, hl.TailStrategy.RoundUp)
    width, height = rng.integers(20, 40, 2)
    return Case(
        [out],
        [[(0, width), (0, height), (0, 3)]],
        [(rgb, pixels(rng, "uint8", width + 20, height, 3))],
        lost=("promises", "strides"),
    )


@program
def levels(rng: np.random.Generator, scheduled: bool) -> Case:
    """A pyramid of three levels, down and up again; Funcs of one name at each level."""
    photo = hl.ImageParam(hl.Float(32), 2, "photo")
    around = hl.BoundaryConditions.repeat_edge(photo)
    down = [around]
    for _ in range(2):
        half = hl.Func("half")
        half[x, y] = (
            down[-1][2 * x, 2 * y] + down[-1][2 * x + 1, 2 * y] + down[-1][2 * x, 2 * y + 1]
        ) * 0.25
        down.append(half)
    up = down[-1]
    for level in (1, 0):
        finer = hl.Func("finer")
        finer[x, y] = (
            0.75 * up[x // 2, y // 2] + 0.25 * up[(x + 1) // 2, y // 2] - down[level][x, y]
        )
        up = finer
    out = hl.Func("levels")
    out[x, y] = hl.select(up[x, y] > 0, hl.sqrt(up[x, y]), up[x, y] / 3)
    if scheduled:
        out.compute_root().parallel(y, 4)
        for func in down[1:]:
            func.compute_root().vectorize(x, 4)
        up.compute_at(out, y)
    width, height = rng.integers(20, 50, 2)
    return Case(
        [out], [[(0, width), (0, height)]], [(photo, pixels(rng, "float32", width, height))]
    )


@program
def windows(rng: np.random.Generator, scheduled: bool) -> Case:
    """A vertical window that slides, in folded storage, in strips."""
    photo = hl.ImageParam(hl.UInt(16), 2, "photo")
    rows, out = hl.Func("rows"), hl.Func("windows")
    rows[x, y] = (photo[x, y] // 3) + (photo[x + 1, y] // 3)
    out[x, y] = hl.max(hl.max(rows[x, y - 1], rows[x, y]), rows[x, y + 1])
    if scheduled:
        out.split(y, yo, yi, 8).parallel(yo)
        rows.store_at(out, yo).compute_at(out, yi).fold_storage(y, 4)
        rows.hoist_storage(out, yo)
        rows.reorder_storage(y, x)
        out.prefetch(photo, yi, yi, 2)
        rows.never_partition([x])
    return Case(
        [out],
        [[(0, 33), (1, 22)]],
        [(photo, pixels(rng, "uint16", 40, 30))],
    )
