"""Lossless colours of many thumbnails by lifting steps (YCoCg-R)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, i16, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIZE, IMAGES = 64, 256


def pipeline() -> Pipeline:
    """Differences orange and green, and luma, as planes of 16 bits."""
    x, y, c, n = Var("x"), Var("y"), Var("c"), Var("n")
    rgb = ImageParam(UInt8, 4, "rgb")
    output = Func("output")
    red, green, blue = (i16(rgb[i, x, y, n]) for i in range(3))
    orange = red - blue
    middle = blue + (orange >> 1)
    greenness = green - middle
    output[x, y, c, n] = mux(c, [middle + (greenness >> 1), orange, greenness])
    return spaces.pipeline(
        output,
        name="ycocg_thumbnails",
        estimates={rgb: [3, SIZE, SIZE, IMAGES], output: [SIZE, SIZE, 3, IMAGES]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """By the sums that lifting stands for: the mean of red and blue, and of it and green."""
    red, green, blue = np.moveaxis(inputs["rgb"].astype(np.int64), 3, 0)
    middle = (red + blue) // 2
    luma = (green + middle) // 2
    planes: Array = np.stack([luma, red - blue, green - middle], axis=1).astype(np.int16)
    return planes


GALLERY_PIPELINE = GalleryPipeline(
    name="ycocg_thumbnails",
    kind=PipelineKind.COLOURS,
    summary="lossless luma and colour differences of 256 thumbnails, 8 bits to 16",
    pipeline=pipeline,
    expected=expected,
    small={"rgb": (3, 37, 23, 2), "output": (37, 23, 3, 2)},
)
