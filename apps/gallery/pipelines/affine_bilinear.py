"""A picture turned and scaled about a corner, in fixed point."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Expr, Func, ImageParam, Pipeline, UInt8, Var, boundary, u8, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1080
ACROSS, DOWN = (60000, 9000, 300000), (-8000, 58000, 500000)
"""Coordinates in the picture, in 65536ths of a pixel: of x, of y and of the corner."""


def pipeline() -> Pipeline:
    """Four pixels weighted by eight bits of the fractions. Outside, the picture is black."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    black = boundary.constant_exterior(image, 0)
    output = Func("output")

    def place(a: int, b: int, start: int) -> tuple[Expr, Expr]:
        at = a * x + b * y + start
        return at >> 16, u32((at >> 8) & 255)

    (left, right_part), (top, low_part) = place(*ACROSS), place(*DOWN)

    def line(at: Expr) -> Expr:
        return u32(black[left, at]) * (256 - right_part) + u32(black[left + 1, at]) * right_part

    mixed = line(top) * (256 - low_part) + line(top + 1) * low_part
    output[x, y] = u8((mixed + 32768) >> 16)
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="affine_bilinear", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with coordinates as arrays and a picture in the middle of black."""
    height, width = inputs["image"].shape
    wide = np.pad(inputs["image"].astype(np.int64), 1)
    y, x = np.mgrid[:height, :width]

    def place(a: int, b: int, start: int) -> tuple[Array, Array]:
        whole, part = np.divmod((a * x + b * y + start) // 256, 256)
        return whole, part

    (left, right_part), (top, low_part) = place(*ACROSS), place(*DOWN)

    def value(i: Array, j: Array) -> Array:
        found: Array = wide[np.clip(j + 1, 0, height + 1), np.clip(i + 1, 0, width + 1)]
        return found

    upper = value(left, top) * (256 - right_part) + value(left + 1, top) * right_part
    lower = value(left, top + 1) * (256 - right_part) + value(left + 1, top + 1) * right_part
    mixed = upper * (256 - low_part) + lower * low_part
    rounded: Array = (mixed + 32768) // 65536
    return rounded.astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="affine_bilinear",
    kind=PipelineKind.WARPS,
    summary="affine warp with bilinear interpolation in fixed point, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
