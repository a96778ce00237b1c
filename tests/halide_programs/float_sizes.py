"""Programs whose regions a call computes from floats: sizes from Params, grids of scaled places."""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs.case import Case, program

x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")


@program
def float_grid(rng: np.random.Generator, scheduled: bool) -> Case:
    """A grid whose depth is the reciprocal of a Param, read between its places."""
    photo, sigma = hl.ImageParam(hl.Float(32), 2, "photo"), hl.Param(hl.Float(32), "sigma")
    grid, thick, out = hl.Func("grid"), hl.Func("thick"), hl.Func("float_grid")
    r = hl.RDom([(0, 4), (0, 4)], "r")
    value = hl.clamp(photo[x * 4 + r.x, y * 4 + r.y], 0.0, 1.0)
    grid[x, y, z] = 0.0
    grid[x, y, hl.i32(value * (1.0 / sigma) + 0.5)] += value
    thick[x, y, z] = grid[x, y, z - 1] + grid[x, y, z] * 2 + grid[x, y, z + 1]
    deep = hl.clamp(photo[x, y], 0.0, 1.0) * (1.0 / sigma)
    low = hl.i32(deep)
    out[x, y] = hl.lerp(thick[x // 4, y // 4, low], thick[x // 4, y // 4, low + 1], deep - low)
    if scheduled:
        yo = hl.Var("yo")
        out.split(y, yo, y, 4).parallel(yo).vectorize(x, 4)
        thick.compute_at(out, yo)
        grid.compute_at(out, yo)
    data = rng.uniform(-0.2, 1.2, (16, 16)).astype(np.float32)
    return Case([out], [[(0, 16), (0, 16)]], [(photo, data)], [(sigma, 0.07)], ulps=1)


@program
def float_places(rng: np.random.Generator, scheduled: bool) -> Case:
    """A radius that is a product with a Param, and places divided by a quotient of sizes."""
    small, wide = hl.ImageParam(hl.Int(32), 1, "small"), hl.ImageParam(hl.Int(32), 1, "wide")
    scale, slices = hl.Param(hl.Float(32), "scale"), hl.Param(hl.Int(32), "slices")
    radius = hl.i32(hl.max(slices - 5, 5) * scale)
    r = hl.RDom([(-radius, 2 * radius + 1)], "r")
    near, most, out = hl.Func("near"), hl.Func("most"), hl.Func("float_places")
    near[x] = small[hl.clamp(x, 0, small.dim(0).extent() - 1)] ^ x
    most[x] = near[x]
    most[x] = hl.max(most[x], near[x + r.x])
    step = hl.f32(hl.i32(hl.ceil(hl.f32(wide.dim(0).extent()) / hl.f32(small.dim(0).extent()))))
    at = hl.f32(x) / step
    below = hl.i32(hl.floor(at))
    out[x] = most[below] + most[below + 1] + hl.i32(hl.round(at * 8)) + wide[x]
    if scheduled:
        out.vectorize(x, 8)
        most.compute_root()
        near.compute_root().vectorize(x, 4)
    data = [
        (image, rng.integers(-99, 99, n).astype("int32")) for image, n in ((small, 11), (wide, 37))
    ]
    return Case([out], [[(0, 37)]], data, [(scale, 0.41), (slices, 12)])
