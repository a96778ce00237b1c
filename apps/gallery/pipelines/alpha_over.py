"""A picture with transparency over another one: premultiplied colours, interleaved bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, saturating_add, u8, u16
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1080


def pipeline() -> Pipeline:
    """``front + back * (255 - alpha) / 255``, rounded to the nearest without a division."""
    c, x, y = Var("c"), Var("x"), Var("y")
    front, back = ImageParam(UInt8, 3, "front"), ImageParam(UInt8, 3, "back")
    output = Func("output")
    product = u16(255 - front[3, x, y]) * u16(back[c, x, y]) + 128
    dimmed = u8((product + (product >> 8)) >> 8)
    output[c, x, y] = saturating_add(front[c, x, y], dimmed)
    size = [4, WIDTH, HEIGHT]
    return spaces.pipeline(
        output, name="alpha_over", estimates={front: size, back: size, output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with a division."""
    front, back = (inputs[name].astype(np.int64) for name in ("front", "back"))
    dimmed = (2 * back * (255 - front[..., 3:]) + 255) // 510
    return np.minimum(front + dimmed, 255).astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="alpha_over",
    kind=PipelineKind.POINTWISE,
    summary="RGBA over RGBA with rounding, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"front": (4, 37, 23), "back": (4, 37, 23), "output": (4, 37, 23)},
)
