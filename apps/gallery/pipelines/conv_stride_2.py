"""The first layer of a network: a convolution of 3x3 with stride 2, channels as planes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

CHANNELS, SIZE, BATCH = 32, 112, 4


def pipeline() -> Pipeline:
    """From RGB to 32 planes of half the size; negative values keep a tenth."""
    x, y, c, n = Var("x"), Var("y"), Var("c"), Var("n")
    image, weights = ImageParam(Float32, 4, "image"), ImageParam(Float32, 4, "weights")
    bias = ImageParam(Float32, 1, "bias")
    layer, output = Func("layer"), Func("output")
    r = RDom([(0, 3), (0, 3), (0, 3)], "r")
    layer[x, y, c, n] = bias[c]
    layer[x, y, c, n] += weights[r.x, r.y, r.z, c] * image[2 * x + r.x, 2 * y + r.y, r.z, n]
    value = layer[x, y, c, n]
    output[x, y, c, n] = spaces.max(value, 0.1 * value)
    return spaces.pipeline(
        output,
        name="conv_stride_2",
        estimates={
            image: [2 * SIZE + 1, 2 * SIZE + 1, 3, BATCH],
            weights: [3, 3, 3, CHANNELS],
            bias: [CHANNELS],
            output: [SIZE, SIZE, CHANNELS, BATCH],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A contraction of windows with the weights."""
    image, weights, bias = (inputs[n].astype(np.float64) for n in ("image", "weights", "bias"))
    windows = sliding_window_view(image, (3, 3), (2, 3))[:, :, ::2, ::2]
    layer = np.einsum("nzyxij,czij->ncyx", windows, weights) + bias[:, None, None]
    rectified: Array = np.maximum(layer, 0.1 * layer)
    return rectified


GALLERY_PIPELINE = GalleryPipeline(
    name="conv_stride_2",
    kind=PipelineKind.CONVOLUTIONS,
    summary="convolution of 3x3 with stride 2, RGB to 32 planes of 112x112, batch of 4, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"weights": around_zero(0.3), "bias": around_zero(0.3)},
    small={
        "image": (27, 15, 3, 2),
        "weights": (3, 3, 3, 5),
        "bias": (5,),
        "output": (13, 7, 5, 2),
    },
)
