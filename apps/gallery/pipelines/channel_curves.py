"""A table of 256 values for each channel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, i32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 5600, 3728


def pipeline() -> Pipeline:
    """Each byte of an interleaved picture through the table of its channel."""
    x, y, c = Var("x"), Var("y"), Var("c")
    image, curves = ImageParam(UInt8, 3, "image"), ImageParam(UInt8, 2, "curves")
    output = Func("output")
    output[c, x, y] = curves[i32(image[c, x, y]), c]
    size = [3, WIDTH, HEIGHT]
    return spaces.pipeline(
        output, name="channel_curves", estimates={image: size, curves: [256, 3], output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's gather."""
    found: Array = inputs["curves"][np.arange(3), inputs["image"]]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="channel_curves",
    kind=PipelineKind.LOOKUPS,
    summary="a table for each channel of 21 megapixels, RGB, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (3, 37, 23), "curves": (256, 3), "output": (3, 37, 23)},
)
