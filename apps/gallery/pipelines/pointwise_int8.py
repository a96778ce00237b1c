"""A quantised convolution of 1x1 whose channels have scales of their own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import (
    Func,
    ImageParam,
    Int8,
    Int32,
    Pipeline,
    RDom,
    Var,
    i8,
    i32,
    max,
    min,
    rounding_mul_shift_right,
)
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

CHANNELS_IN, CHANNELS_OUT, SIZE = 96, 160, 28
ZERO = -128


def pipeline() -> Pipeline:
    """Sums in 32 bits, times the scale of the channel in 1/2**31, rounded, cut to 8 bits above the
    value that stands for 0.
    """
    c, x, y = Var("c"), Var("x"), Var("y")
    image, weights = ImageParam(Int8, 3, "image"), ImageParam(Int8, 2, "weights")
    bias, scale = ImageParam(Int32, 1, "bias"), ImageParam(Int32, 1, "scale")
    total, output = Func("total"), Func("output")
    k = RDom([(0, CHANNELS_IN)], "k")
    total[c, x, y] = bias[c]
    total[c, x, y] += (i32(image[k, x, y]) - ZERO) * i32(weights[c, k])
    scaled = rounding_mul_shift_right(total[c, x, y], scale[c], 31)
    output[c, x, y] = i8(min(max(scaled, 0) + ZERO, 127))
    return spaces.pipeline(
        output,
        name="pointwise_int8",
        estimates={
            image: [CHANNELS_IN, SIZE, SIZE],
            weights: [CHANNELS_OUT, CHANNELS_IN],
            bias: [CHANNELS_OUT],
            scale: [CHANNELS_OUT],
            output: [CHANNELS_OUT, SIZE, SIZE],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A product of matrices."""
    image, weights = (inputs[name].astype(np.int64) for name in ("image", "weights"))
    total = (image - ZERO) @ weights + inputs["bias"]
    scaled = (total * inputs["scale"] + (1 << 30)) >> 31
    cut: Array = (np.clip(scaled, 0, 255) + ZERO).astype(np.int8)
    return cut


GALLERY_PIPELINE = GalleryPipeline(
    name="pointwise_int8",
    kind=PipelineKind.CONVOLUTIONS,
    summary="quantised convolution of 1x1, 96 to 160 channels, 28x28, int8",
    pipeline=pipeline,
    expected=expected,
    inputs={"bias": values_in(-50_000, 50_000), "scale": values_in(1 << 20, 1 << 22)},
    small={
        "image": (CHANNELS_IN, 21, 13),
        "weights": (23, CHANNELS_IN),
        "bias": (23,),
        "scale": (23,),
        "output": (23, 21, 13),
    },
)
