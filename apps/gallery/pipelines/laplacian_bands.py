"""Details of two sizes made stronger, by a Laplacian pyramid that is taken apart and collapsed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, boundary
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array
from spaces.apps.pipelines.resampling import doubled, halved

WIDTH, HEIGHT = 2048, 1536
FINE, MEDIUM = 2.0, 1.5
"""Factors of the details lost by the first and by the second step down."""


def pipeline() -> Pipeline:
    """Two levels down, the differences from the coarser levels, and two levels up. Outside, the
    picture repeats its edge pixels.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    edges = boundary.repeat_edge(image)
    half = halved(edges, "half", x, y)
    quarter = halved(half, "quarter", x, y)
    coarse, smooth = doubled(quarter, "quarter", x, y), doubled(half, "half", x, y)
    details, joined, output = Func("details"), Func("joined"), Func("output")
    details[x, y] = half[x, y] - coarse[x, y]
    joined[x, y] = coarse[x, y] + MEDIUM * details[x, y]
    finest = image[x, y] - smooth[x, y]
    output[x, y] = doubled(joined, "joined", x, y)[x, y] + FINE * finest
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="laplacian_bands", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with whole levels that have margins."""
    height, width = inputs["image"].shape
    margins = [(16, 16 + -extent % 4) for extent in (height, width)]
    whole = np.pad(inputs["image"].astype(np.float64), margins, mode="edge")
    half = _smaller(whole)
    coarse = _larger(_smaller(half))
    joined = coarse + MEDIUM * (half - coarse)
    sharp = _larger(joined) + FINE * (whole - _larger(half))
    return sharp[16 : 16 + height, 16 : 16 + width]


def _smaller(level: Array) -> Array:
    """Weights 1 3 3 1 along both axes at every second value; wrong beside the edges."""
    for axis in (0, 1):
        far = np.roll(level, 1, axis) + np.roll(level, -2, axis)
        level = (far + 3 * (level + np.roll(level, -1, axis))) / 8
        level = level.take(range(0, level.shape[axis], 2), axis)
    return level


def _larger(level: Array) -> Array:
    """Three quarters of the nearer value and one of the farther; wrong beside the edges."""
    for axis in (0, 1):
        halves = [(3 * level + np.roll(level, by, axis)) / 4 for by in (1, -1)]
        shape = [size * (1 + (at == axis)) for at, size in enumerate(level.shape)]
        level = np.stack(halves, axis + 1).reshape(shape)
    return level


GALLERY_PIPELINE = GalleryPipeline(
    name="laplacian_bands",
    kind=PipelineKind.PYRAMIDS,
    summary="Laplacian pyramid of three levels, its bands amplified, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
