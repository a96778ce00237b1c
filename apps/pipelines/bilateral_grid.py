"""Bilateral grid: smoothing that keeps edges, one of the pipelines of [RK13], [S19], [S20], [A21].

Method: Chen, Paris and Durand, "Real-time Edge-aware Image Processing with the Bilateral Grid",
2007. It counts pixels into a coarse grid of positions and intensities, blurs the grid, and
interpolates between its cells at each pixel.
"""

from __future__ import annotations

from collections.abc import Sequence

import spaces
from spaces import (
    Expr,
    Float32,
    Func,
    ImageParam,
    Int32,
    Pipeline,
    RDom,
    Var,
    boundary,
    cast,
    clamp,
    lerp,
    mux,
)
from spaces.apps.app import App
from spaces.apps.pictures import clipped
from spaces.model.expressions.expr import Arithmetic

WIDTH, HEIGHT = 1536, 2560

CELL = 8
"""Pixels of the picture along each side of a cell of the grid."""

STEPS = 10
"""Cells of the grid from black, 0, to white, 1."""

WEIGHTS = (1.0, 4.0, 6.0, 4.0, 1.0)
"""Weights of the blur along each of the three axes of the grid."""


def pipeline() -> Pipeline:
    """A gray picture in [0, 1], smoothed where it differs by less than a tenth or so.

    A cell holds the sum of its pixels and, as its second channel, their number: both are blurred,
    and their ratio is the result.
    """
    x, y, z, c = Var("x"), Var("y"), Var("z"), Var("c")
    image = ImageParam(Float32, 2, "input")
    bounded = boundary.repeat_edge(image)

    grid = Func("grid")
    r = RDom([(0, CELL), (0, CELL)])
    grid[x, y, z, c] = 0.0
    counted = clamp(
        bounded[x * CELL + r.x - CELL // 2, y * CELL + r.y - CELL // 2].as_expr(), 0.0, 1.0
    )
    cell = clamp(cast(Int32, counted * float(STEPS) + 0.5), 0, STEPS)
    grid[x, y, cell, c] += mux(c, [counted, 1.0])

    blur_z, blur_x, blur_y = Func("blur_z"), Func("blur_x"), Func("blur_y")
    blur_z[x, y, z, c] = _weighted([grid[x, y, z + d, c] for d in range(-2, 3)])
    blur_x[x, y, z, c] = _weighted([blur_z[x + d, y, z, c] for d in range(-2, 3)])
    blur_y[x, y, z, c] = _weighted([blur_x[x, y + d, z, c] for d in range(-2, 3)])

    height = clamp(image[x, y], 0.0, 1.0) * float(STEPS)
    floor = clamp(cast(Int32, height), 0, STEPS)
    part_x, part_y = cast(Float32, x % CELL) / float(CELL), cast(Float32, y % CELL) / float(CELL)

    def across(dy: int, dz: int) -> Expr:
        left, right = (blur_y[x / CELL + dx, y / CELL + dy, floor + dz, c] for dx in (0, 1))
        return lerp(left, right, part_x)

    def along(dz: int) -> Expr:
        return lerp(across(0, dz), across(1, dz), part_y)

    sampled = Func("sampled")
    sampled[x, y, c] = lerp(along(0), along(1), height - cast(Float32, floor))
    output = Func("output")
    output[x, y] = sampled[x, y, 0] / sampled[x, y, 1]
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="bilateral_grid", estimates={image: size, output: size})


def _weighted(values: Sequence[Arithmetic]) -> Expr:
    total = values[0] * WEIGHTS[0]
    for value, weight in zip(values[1:], WEIGHTS[1:], strict=True):
        total = total + value * weight
    return total


APP = App(
    "bilateral_grid",
    "[RK13]",
    "smoothing that keeps edges, by a grid of places and intensities",
    pipeline,
    picture=clipped,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S20]",
)
