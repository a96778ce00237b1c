"""A picture read at the coordinates that two maps give."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Expr, Float32, Func, ImageParam, Pipeline, Var, clamp, f32, floor, i32, lerp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1600, 1200


def pipeline() -> Pipeline:
    """Linear interpolation between four pixels; coordinates are limited to the picture."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    across, down = ImageParam(Float32, 2, "across"), ImageParam(Float32, 2, "down")
    output = Func("output")

    def place(at: Expr, extent: Expr) -> tuple[Expr, Expr]:
        first = clamp(i32(floor(at)), 0, extent - 2)
        return first, clamp(at - f32(first), 0.0, 1.0)

    left, right_part = place(across[x, y], image.width())
    top, low_part = place(down[x, y], image.height())
    upper = lerp(image[left, top], image[left + 1, top], right_part)
    lower = lerp(image[left, top + 1], image[left + 1, top + 1], right_part)
    output[x, y] = lerp(upper, lower, low_part)
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(
        output,
        name="remap",
        estimates={image: size, across: size, down: size, output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Weighted sums of four gathered arrays."""
    image = inputs["image"].astype(np.float64)
    height, width = image.shape
    across = np.clip(inputs["across"].astype(np.float64), 0, width - 1)
    down = np.clip(inputs["down"].astype(np.float64), 0, height - 1)
    found = np.zeros(across.shape)
    for i, j in np.ndindex(2, 2):
        left, top = np.floor(across).astype(int) + i, np.floor(down).astype(int) + j
        weights = (1 - np.abs(across - left)) * (1 - np.abs(down - top))
        found += weights * image[np.minimum(top, height - 1), np.minimum(left, width - 1)]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="remap",
    kind=PipelineKind.WARPS,
    summary="bilinear reads at coordinates from two maps, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"across": values_in(-2, 45), "down": values_in(-2, 35)},
    small={"image": (41, 31), "across": (37, 23), "down": (37, 23), "output": (37, 23)},
    tolerance=1e-5,
)
