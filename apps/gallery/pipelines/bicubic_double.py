"""A picture at twice its size by cubic convolution (Keys, 1981)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

import spaces
from spaces import Expr, Float32, Func, ImageParam, Pipeline, Var, boundary
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4096, 3072
WEIGHTS = (-0.0703125, 0.8671875, 0.2265625, -0.0234375)
"""Of the pixels at distances 1 1/4, 1/4, 3/4 and 1 3/4, for Keys's a = -1/2."""


def pipeline() -> Pipeline:
    """Four pixels along columns, then along lines; even and odd pixels have mirrored weights.
    Outside, the picture repeats its edge pixels.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    edges = boundary.repeat_edge(image)
    down, output = Func("down"), Func("output")

    def toward(at: Expr) -> Expr:
        """From the nearest pixel to the next but one."""
        return 2 * (at % 2) - 1

    steps = range(-1, 3)
    step, near = toward(y), y / 2
    down[x, y] = reduce(
        add, (edges[x, near + step * k] * w for k, w in zip(steps, WEIGHTS, strict=True))
    )
    step, near = toward(x), x / 2
    output[x, y] = reduce(
        add, (down[near + step * k, y] * w for k, w in zip(steps, WEIGHTS, strict=True))
    )
    return spaces.pipeline(
        output,
        name="bicubic_double",
        estimates={image: [WIDTH // 2, HEIGHT // 2], output: [WIDTH, HEIGHT]},
    )


def _keys(distance: Array) -> Array:
    """Keys's kernel for a = -1/2."""
    d = np.abs(distance)
    near, far = 1.5 * d**3 - 2.5 * d**2 + 1, -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2
    return np.where(d < 1, near, np.where(d < 2, far, 0.0))


def expected(inputs: Mapping[str, Array]) -> Array:
    """Products with matrices of the kernel at all distances."""
    padded = np.pad(inputs["image"].astype(np.float64), 2, mode="edge")

    def matrix(size: int) -> Array:
        places = (np.arange(2 * (size - 4)) + 0.5) / 2 - 0.5
        return _keys(places[:, None] - (np.arange(size) - 2))

    height, width = padded.shape
    doubled: Array = matrix(height) @ padded @ matrix(width).T
    return doubled


GALLERY_PIPELINE = GalleryPipeline(
    name="bicubic_double",
    kind=PipelineKind.RESAMPLING,
    summary="cubic interpolation to twice the size, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (19, 13), "output": (38, 26)},
)
