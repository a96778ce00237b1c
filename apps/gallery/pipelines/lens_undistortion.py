"""A picture without the barrel shape that a wide lens gives it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, clamp, f32, floor, i32, lerp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, CHANNELS = 2592, 1944, 3
CUBIC, QUINTIC = -0.12, 0.03
"""Coefficients of the radius to the power of 3 and 5; the half width is 1."""


def pipeline() -> Pipeline:
    """Coordinates by a polynomial of the radius, once for three planes, and bilinear reads."""
    x, y, c = Var("x"), Var("y"), Var("c")
    image = ImageParam(Float32, 3, "image")
    place, output = Func("place"), Func("output")
    across, down = f32(image.width() - 1) * 0.5, f32(image.height() - 1) * 0.5
    u, v = f32(x) - across, f32(y) - down
    square = (u * u + v * v) / (across * across)
    factor = 1.0 + square * (CUBIC + QUINTIC * square)
    place[x, y] = (
        clamp(across + u * factor, 0.0, 2.0 * across),
        clamp(down + v * factor, 0.0, 2.0 * down),
    )
    left, top = (floor(at) for at in place[x, y])
    i = clamp(i32(left), 0, image.width() - 2)
    j = clamp(i32(top), 0, image.height() - 2)
    right_part, low_part = place[x, y][0] - f32(i), place[x, y][1] - f32(j)
    upper = lerp(image[i, j, c], image[i + 1, j, c], right_part)
    lower = lerp(image[i, j + 1, c], image[i + 1, j + 1, c], right_part)
    output[x, y, c] = lerp(upper, lower, low_part)
    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(output, name="lens_undistortion", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with complex coordinates and gathered arrays."""
    planes = inputs["image"].astype(np.float64)
    _, height, width = planes.shape
    middle = complex(width - 1, height - 1) / 2
    y, x = np.mgrid[:height, :width]
    offset = x + 1j * y - middle
    radius = np.abs(offset) / middle.real
    place = middle + offset * (1 + CUBIC * radius**2 + QUINTIC * radius**4)
    across, down = np.clip(place.real, 0, width - 1), np.clip(place.imag, 0, height - 1)
    left, top = np.minimum(across.astype(int), width - 2), np.minimum(down.astype(int), height - 2)
    right_part, low_part = across - left, down - top
    upper = planes[:, top, left] * (1 - right_part) + planes[:, top, left + 1] * right_part
    lower = planes[:, top + 1, left] * (1 - right_part) + planes[:, top + 1, left + 1] * right_part
    found: Array = upper * (1 - low_part) + lower * low_part
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="lens_undistortion",
    kind=PipelineKind.WARPS,
    summary="radial lens correction, three planes, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23, 3), "output": (37, 23, 3)},
    tolerance=1e-5,
)
