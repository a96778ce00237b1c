"""Local Laplacian filter: tone and detail by pyramids, 99 stages at the size that [RK13], [S19]
and [A21] schedule.

Method: Paris, Hasinoff and Kautz, "Local Laplacian Filters", 2011, in the fast form of Aubry et
al., 2014, which remaps the image at a few intensities and interpolates between them.

The values are those of Halide's app. The number of intensities is fixed when the pipeline is built;
Halide's app takes it as a scalar parameter.
"""

from __future__ import annotations

import numpy as np

import spaces
from spaces import (
    Expr,
    Float32,
    Func,
    ImageParam,
    Int32,
    Param,
    Pipeline,
    UInt16,
    Var,
    cast,
    clamp,
    exp,
)
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, deep, photographed
from spaces.apps.pipelines.edges import edges_repeated
from spaces.apps.pipelines.resampling import doubled

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

LEVELS = 8
"""Levels of each pyramid."""

INTENSITIES = 8
"""The number of gray values at which the pipeline remaps the image."""

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the gray value (ITU-R BT.601)."""

_STEPS = 256
"""Entries of the table of remapped details between two of these gray values."""

_DARKEST = 0.01
"""Added to gray values, old and new, whose ratio scales the colors."""


def pipeline(levels: int = LEVELS, intensities: int = INTENSITIES) -> Pipeline:
    """Details of an RGB image enlarged by ``alpha`` and its large contrasts scaled by ``beta``,
    without halos at edges.
    """
    x, y, c, k = Var("x"), Var("y"), Var("c"), Var("k")
    image = ImageParam(UInt16, 3, "input")
    alpha = Param(Float32, "alpha", 1.0 / (intensities - 1))
    beta = Param(Float32, "beta", 1.0)
    bounded = edges_repeated(image)

    detail = Func("detail")
    t = cast(Float32, x) / float(_STEPS)
    detail[x] = alpha * t * exp(-t * t / 2.0)

    color = Func("color")
    color[x, y, c] = cast(Float32, bounded[x, y, c]) / 65535.0
    gray = Func("gray")
    red, green, blue = LUMA
    gray[x, y] = red * color[x, y, 0] + green * color[x, y, 1] + blue * color[x, y, 2]

    remapped: list[Func] = [Func("remapped_0")]
    nearest = clamp(
        cast(Int32, gray[x, y] * float((intensities - 1) * _STEPS)), 0, (intensities - 1) * _STEPS
    )
    center = cast(Float32, k) * (1.0 / (intensities - 1))
    remapped[0][x, y, k] = beta * (gray[x, y] - center) + center + detail[nearest - _STEPS * k]
    pictured = [gray]
    for j in range(1, levels):
        remapped.append(_halved(remapped[-1], f"remapped_{j}", x, y, k))
        pictured.append(_halved(pictured[-1], f"gray_{j}", x, y))

    details: list[Func] = []
    for j in range(levels - 1):
        band = Func(f"band_{j}")
        coarser = doubled(remapped[j + 1], f"band_{j}", x, y, k)
        band[x, y, k] = remapped[j][x, y, k] - coarser[x, y, k]
        details.append(band)
    details.append(remapped[-1])

    chosen: list[Func] = []
    for j in range(levels):
        at = pictured[j][x, y] * float(intensities - 1)
        lower = clamp(cast(Int32, at), 0, intensities - 2)
        part = at - cast(Float32, lower)
        mixed = Func(f"mixed_{j}")
        mixed[x, y] = (1.0 - part) * details[j][x, y, lower] + part * details[j][x, y, lower + 1]
        chosen.append(mixed)

    rebuilt = chosen[-1]
    for j in reversed(range(levels - 1)):
        finer = Func(f"rebuilt_{j}")
        finer[x, y] = doubled(rebuilt, f"rebuilt_{j}", x, y)[x, y] + chosen[j][x, y]
        rebuilt = finer

    colored = Func("colored")
    colored[x, y, c] = image[x, y, c] * (rebuilt[x, y] + _DARKEST) / (gray[x, y] + _DARKEST)
    output = Func("output")
    output[x, y, c] = cast(UInt16, clamp(colored[x, y, c], 0.0, 65535.0))

    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(output, name="local_laplacian", estimates={image: size, output: size})


def _halved(of: Func, name: str, x: Expr, y: Expr, *more: Expr) -> Func:
    """``of`` at half the resolution, by weights 1 3 3 1 along y, then along x."""
    down, both, result = Func(f"{name}_y"), Func(f"{name}_yx"), Func(name)
    down[x, y, *more] = (
        of[x, 2 * y - 1, *more]
        + 3.0 * (of[x, 2 * y, *more] + of[x, 2 * y + 1, *more])
        + of[x, 2 * y + 2, *more]
    ) / 8.0
    both[x, y, *more] = (
        down[2 * x - 1, y, *more]
        + 3.0 * (down[2 * x, y, *more] + down[2 * x + 1, y, *more])
        + down[2 * x + 2, y, *more]
    ) / 8.0
    result[x, y, *more] = both[x, y, *more]
    return result


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph with 16 bits a channel."""
    arrays = photographed(pipeline, photograph)
    return {name: array * np.uint16(257) for name, array in arrays.items()}


APP = App(
    "local_laplacian",
    "[RK13]",
    "local Laplacian filter: detail and tone by pyramids",
    pipeline,
    picture=deep,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S19]",
)
