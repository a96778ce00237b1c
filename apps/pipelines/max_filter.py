"""Maximum over a disk around each pixel: one of the pipelines of [S20] and [A21].

The disk is made of columns of pixels. The maximum over a column of any height is that of two
columns whose height is a power of two, and those are found by doubling.

The values are those of Halide's app, whose columns reach a pixel further up and down than the disk.
Here comparisons find the power of two for a height; in Halide's app logarithms do.
"""

from __future__ import annotations

import spaces
from spaces import (
    Float32,
    Func,
    ImageParam,
    Pipeline,
    RDom,
    Var,
    cast,
    clamp,
    max,
    maximum,
    select,
    sum,
)
from spaces.apps.app import App
from spaces.apps.pictures import clipped
from spaces.apps.pipelines.edges import edges_repeated

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

RADIUS = 26
"""Radius of the disk, in pixels."""


def pipeline(radius: int = RADIUS) -> Pipeline:
    """RGB in, RGB out. Outside, the picture repeats its edge pixels."""
    x, y, c, t = Var("x"), Var("y"), Var("c"), Var("t")
    image = ImageParam(Float32, 3, "input")
    bounded = edges_repeated(image)
    slices = (2 * radius + 3).bit_length()

    doubled = Func("doubled")
    r = RDom([(-radius, image.height() + radius), (1, slices - 1)])
    doubled[x, y, c, t] = bounded[x, y, c]
    below = r.x + clamp(1 << (r.y - 1), 0, 2 * radius)
    doubled[x, r.x, c, r.y] = max(doubled[x, r.x, c, r.y - 1], doubled[x, below, c, r.y - 1])

    slice_of = Func("slice_of")
    power = RDom([(1, slices - 1)], "power")
    slice_of[t] = sum(select(2 * t + 1 >= 1 << power, 1, 0), "powers_below")

    column = Func("column")
    chosen = clamp(slice_of[t].as_expr(), 0, slices - 1)
    low = doubled[x, y - t, c, chosen]
    high = doubled[x, y + t + 1 - clamp(1 << chosen, 0, 2 * radius), c, chosen]
    column[x, y, c, t] = max(low, high)

    half_height = Func("half_height")
    dy = RDom([(0, radius + 1)], "dy")
    inside = cast(Float32, x * x + dy * dy) < (radius + 0.25) * (radius + 0.25)
    half_height[x] = sum(select(inside, 1, 0), "rows_from_middle")
    output = Func("output")
    dx = RDom([(-radius, 2 * radius + 1)], "dx")
    tall = clamp(half_height[dx].as_expr(), 0, radius + 1)
    output[x, y, c] = maximum(column[x + dx, y, c, tall], "columns")

    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(output, name="max_filter", estimates={image: size, output: size})


APP = App(
    "max_filter",
    "[S20]",
    "maximum over a disk of radius 26, RGB",
    pipeline,
    picture=clipped,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S20]",
)
