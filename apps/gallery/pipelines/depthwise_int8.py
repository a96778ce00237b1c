"""A quantised convolution of each channel by itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Int32, Pipeline, RDom, UInt8, Var, cast, i32, u8_sat
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

CHANNELS, SIZE = 96, 112
ZERO, SHIFT = 128, 11


def pipeline() -> Pipeline:
    """3x3 pixels of each channel, channels innermost: sums in 32 bits of values less 128, scaled by
    a power of two with rounding, plus 128, cut to 8 bits.
    """
    c, x, y = Var("c"), Var("x"), Var("y")
    image, weights = ImageParam(UInt8, 3, "image"), ImageParam(spaces.Int8, 3, "weights")
    bias = ImageParam(Int32, 1, "bias")
    total, output = Func("total"), Func("output")
    r = RDom([(0, 3), (0, 3)], "r")
    total[c, x, y] = bias[c]
    value = i32(image[c, x + r.x, y + r.y]) - ZERO
    total[c, x, y] += i32(weights[c, r.x, r.y]) * value
    scaled = spaces.rounding_shift_right(total[c, x, y], cast(Int32, SHIFT))
    output[c, x, y] = u8_sat(scaled + ZERO)
    return spaces.pipeline(
        output,
        name="depthwise_int8",
        estimates={
            image: [CHANNELS, SIZE + 2, SIZE + 2],
            weights: [CHANNELS, 3, 3],
            bias: [CHANNELS],
            output: [CHANNELS, SIZE, SIZE],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A contraction of windows with the weights."""
    windows = sliding_window_view(inputs["image"].astype(np.int64) - ZERO, (3, 3), (0, 1))
    total = np.einsum("yxcij,ijc->yxc", windows, inputs["weights"].astype(np.int64))
    total += inputs["bias"]
    scaled = (total + (1 << (SHIFT - 1))) >> SHIFT
    cut: Array = np.clip(scaled + ZERO, 0, 255).astype(np.uint8)
    return cut


GALLERY_PIPELINE = GalleryPipeline(
    name="depthwise_int8",
    kind=PipelineKind.CONVOLUTIONS,
    summary="quantised 3x3 convolution of each of 96 channels, 112x112, 8 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={"bias": values_in(-50_000, 50_000)},
    small={"image": (37, 15, 9), "weights": (37, 3, 3), "bias": (37,), "output": (37, 13, 7)},
)
