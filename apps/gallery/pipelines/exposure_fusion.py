"""Two exposures of one scene joined by their better lit parts, in two bands of frequencies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, boundary, exp, lerp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array
from spaces.apps.pipelines.resampling import doubled, halved

WIDTH, HEIGHT, CHANNELS = 3000, 2000, 3
SPREAD = 0.2
"""The deviation from middle gray at which a pixel's weight is ``exp(-1/2)``."""


def pipeline() -> Pipeline:
    """The weight of the short exposure by gray values; details mixed by it, and the half resolution
    by its half resolution. Outside, pictures repeat their edge pixels.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    short, long = ImageParam(Float32, 3, "short"), ImageParam(Float32, 3, "long")

    def edged(image: ImageParam) -> Func:
        return boundary.repeat_edge(image, [(0, image.width()), (0, image.height())])

    def lit(image: Func, name: str) -> Func:
        gray, weight = Func(f"{name}_gray"), Func(f"{name}_weight")
        gray[x, y] = reduce(add, (image[x, y, k] for k in range(CHANNELS))) / 3.0 - 0.5
        weight[x, y] = exp(gray[x, y] * gray[x, y] * (-0.5 / SPREAD**2))
        return weight

    shorts, longs = edged(short), edged(long)
    share, coarse, output = Func("share"), Func("coarse"), Func("output")
    one, other = lit(shorts, "short"), lit(longs, "long")
    share[x, y] = one[x, y] / (one[x, y] + other[x, y])
    shares = halved(share, "shares", x, y)
    short_half, long_half = (
        halved(shorts, "short_half", x, y, c),
        halved(longs, "long_half", x, y, c),
    )
    coarse[x, y, c] = lerp(long_half[x, y, c], short_half[x, y, c], shares[x, y])
    short_base = doubled(short_half, "short_base", x, y, c)
    long_base = doubled(long_half, "long_base", x, y, c)
    details = lerp(
        long[x, y, c] - long_base[x, y, c], short[x, y, c] - short_base[x, y, c], share[x, y]
    )
    output[x, y, c] = doubled(coarse, "coarse", x, y, c)[x, y, c] + details
    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(
        output, name="exposure_fusion", estimates={short: size, long: size, output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with whole levels that have margins."""
    _, height, width = inputs["short"].shape
    margins = [(0, 0), *((8, 8 + extent % 2) for extent in (height, width))]
    padded = (np.pad(inputs[n].astype(np.float64), margins, mode="edge") for n in ("long", "short"))
    long, short = padded
    weights = [np.exp(-0.5 * ((one.mean(0) - 0.5) / SPREAD) ** 2) for one in (long, short)]
    share = weights[1] / sum(weights)
    long_half, short_half, half = _smaller(long), _smaller(short), _smaller(share[None])
    coarse = half * short_half + (1 - half) * long_half
    details = share * (short - _larger(short_half)) + (1 - share) * (long - _larger(long_half))
    fused: Array = _larger(coarse) + details
    return fused[:, 8 : 8 + height, 8 : 8 + width]


def _smaller(planes: Array) -> Array:
    """Weights 1 3 3 1 along both axes at every second value; wrong beside the edges."""
    for axis in (1, 2):
        far = np.roll(planes, 1, axis) + np.roll(planes, -2, axis)
        planes = (far + 3 * (planes + np.roll(planes, -1, axis))) / 8
        planes = planes.take(range(0, planes.shape[axis], 2), axis)
    return planes


def _larger(planes: Array) -> Array:
    """Three quarters of the nearer value and one of the farther; wrong beside the edges."""
    for axis in (1, 2):
        twice = planes.repeat(2, axis)
        odd = np.arange(twice.shape[axis]).reshape([-1 if a == axis else 1 for a in range(3)]) % 2
        farther = np.where(odd, np.roll(twice, -2, axis), np.roll(twice, 2, axis))
        planes = 0.75 * twice + 0.25 * farther
    return planes


GALLERY_PIPELINE = GalleryPipeline(
    name="exposure_fusion",
    kind=PipelineKind.PYRAMIDS,
    summary="two exposures fused in two levels, RGB, float32",
    pipeline=pipeline,
    expected=expected,
    small={"short": (37, 23, 3), "long": (37, 23, 3), "output": (37, 23, 3)},
)
