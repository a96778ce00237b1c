"""A convolution of 1x1: a product of matrices at each pixel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

INPUTS, OUTPUTS, SIZE = 128, 64, 56


def pipeline() -> Pipeline:
    """From 128 channels to 64, channels innermost, plus what a shortcut adds, rectified at 6."""
    c, x, y = Var("c"), Var("x"), Var("y")
    image, shortcut = ImageParam(Float32, 3, "image"), ImageParam(Float32, 3, "shortcut")
    weights = ImageParam(Float32, 2, "weights")
    mixed, output = Func("mixed"), Func("output")
    r = RDom([(0, INPUTS)], "r")
    mixed[c, x, y] = shortcut[c, x, y]
    mixed[c, x, y] += weights[c, r] * image[r, x, y]
    output[c, x, y] = spaces.clamp(mixed[c, x, y], 0.0, 6.0)
    size = [OUTPUTS, SIZE, SIZE]
    return spaces.pipeline(
        output,
        name="conv_1x1",
        estimates={
            image: [INPUTS, SIZE, SIZE],
            weights: [OUTPUTS, INPUTS],
            shortcut: size,
            output: size,
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A product of matrices, since channels are innermost."""
    image, weights, shortcut = (
        inputs[name].astype(np.float64) for name in ("image", "weights", "shortcut")
    )
    return np.clip(image @ weights + shortcut, 0.0, 6.0)


GALLERY_PIPELINE = GalleryPipeline(
    name="conv_1x1",
    kind=PipelineKind.CONVOLUTIONS,
    summary="convolution of 1x1 with a shortcut, 128 to 64 channels, 56x56, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"weights": around_zero(0.3)},
    small={
        "image": (INPUTS, 7, 5),
        "weights": (23, INPUTS),
        "shortcut": (23, 7, 5),
        "output": (23, 7, 5),
    },
    tolerance=4e-6,
)
