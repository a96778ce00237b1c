"""A picture at one and a half times its size, by linear interpolation in integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Expr, Func, ImageParam, Pipeline, UInt8, Var, u8, u16
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array
from spaces.model.expressions.expr import ExprLike

WIDTH, HEIGHT = 2880, 1620


def pipeline() -> Pipeline:
    """Pixel x of the output lies at 2 x / 3 of the picture: thirds of two pixels, along lines, then
    along columns.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    across, output = Func("across"), Func("output")

    def thirds(low: ExprLike, high: ExprLike, at: Expr) -> Expr:
        part = u16(2 * at % 3)
        return low * (3 - part) + high * part

    left, top = 2 * x / 3, 2 * y / 3
    across[x, y] = thirds(u16(image[left, y]), u16(image[left + 1, y]), x)
    output[x, y] = u8((thirds(across[x, top], across[x, top + 1], y) + 4) / 9)
    around = [2 * WIDTH // 3 + 1, 2 * HEIGHT // 3 + 1]
    return spaces.pipeline(
        output, name="bilinear_three_halves", estimates={image: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same in whole pixels of three times the resolution; every second one counts."""
    value = inputs["image"].astype(np.int64)
    for axis in (0, 1):
        steps = [value * (3 - k) + np.roll(value, -1, axis) * k for k in range(3)]
        shape = [size * (1 + 2 * (at == axis)) for at, size in enumerate(value.shape)]
        value = np.stack(steps, axis + 1).reshape(shape)
        value = value.take(range(0, shape[axis] - 3, 2), axis)
    return ((value + 4) // 9).astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="bilinear_three_halves",
    kind=PipelineKind.RESAMPLING,
    summary="bilinear interpolation to 3/2 of the size, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (26, 18), "output": (38, 26)},
)
