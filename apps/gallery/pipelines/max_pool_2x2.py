"""Pooling of a layer by the maxima of 2x2 pixels."""

from __future__ import annotations

from collections.abc import Mapping

import spaces
from spaces import Func, ImageParam, Int8, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

CHANNELS, WIDTH, HEIGHT, IMAGES = 64, 56, 56, 16


def pipeline() -> Pipeline:
    """The largest of four values, with the channels of a pixel beside each other."""
    c, x, y, n = Var("c"), Var("x"), Var("y"), Var("n")
    layer = ImageParam(Int8, 4, "layer")
    output = Func("output")
    output[c, x, y, n] = spaces.max(
        *(layer[c, 2 * x + i, 2 * y + j, n] for i in range(2) for j in range(2))
    )
    return spaces.pipeline(
        output,
        name="max_pool_2x2",
        estimates={
            layer: [CHANNELS, 2 * WIDTH, 2 * HEIGHT, IMAGES],
            output: [CHANNELS, WIDTH, HEIGHT, IMAGES],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The maxima of blocks."""
    images, height, width, channels = inputs["layer"].shape
    blocks = inputs["layer"].reshape(images, height // 2, 2, width // 2, 2, channels)
    largest: Array = blocks.max((2, 4))
    return largest


GALLERY_PIPELINE = GalleryPipeline(
    name="max_pool_2x2",
    kind=PipelineKind.POOLING,
    summary="maxima of 2x2 pixels, 16 x 64 channels, channels innermost, int8",
    pipeline=pipeline,
    expected=expected,
    small={"layer": (7, 26, 22, 3), "output": (7, 13, 11, 3)},
)
