"""A thumbnail of 64x64 pixels by the means of 3x3 pixels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, u8, u16
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIDE, CHANNELS = 64, 3


def pipeline() -> Pipeline:
    """Sums over blocks of each colour plane, divided with rounding."""
    x, y, c = Var("x"), Var("y"), Var("c")
    image = ImageParam(UInt8, 3, "image")
    total, output = Func("total"), Func("output")
    r = RDom([(0, 3), (0, 3)], "r")
    total[x, y, c] = u16(4)
    total[x, y, c] += u16(image[3 * x + r.x, 3 * y + r.y, c])
    output[x, y, c] = u8(total[x, y, c] / 9)
    return spaces.pipeline(
        output,
        name="area_thumbnail",
        estimates={image: [3 * SIDE, 3 * SIDE, CHANNELS], output: [SIDE, SIDE, CHANNELS]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The rounded means of blocks."""
    channels, height, width = inputs["image"].shape
    blocks = inputs["image"].reshape(channels, height // 3, 3, width // 3, 3)
    means: Array = blocks.mean((2, 4))
    return np.rint(means).astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="area_thumbnail",
    kind=PipelineKind.RESAMPLING,
    summary="thumbnail of 64x64 by means of 3x3 pixels, RGB, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (111, 69, 3), "output": (37, 23, 3)},
)
