"""A layer with a convolution of 5x5, channels innermost, and a leaky rectifier."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, boundary, max
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

CHANNELS_IN, CHANNELS_OUT, SIZE, BATCH = 16, 24, 64, 8


def pipeline() -> Pipeline:
    """Padded by zeros to keep the size; negative values become a tenth."""
    c, x, y, n = Var("c"), Var("x"), Var("y"), Var("n")
    image, weights = ImageParam(Float32, 4, "image"), ImageParam(Float32, 4, "weights")
    size = image.extent(1), image.extent(2)
    padded = boundary.constant_exterior(image, 0.0, [None, (0, size[0]), (0, size[1])])
    total, output = Func("total"), Func("output")
    r = RDom([(0, CHANNELS_IN), (0, 5), (0, 5)], "r")
    total[c, x, y, n] = 0.0
    total[c, x, y, n] += weights[c, r.x, r.y, r.z] * padded[r.x, x + r.y - 2, y + r.z - 2, n]
    output[c, x, y, n] = max(total[c, x, y, n], total[c, x, y, n] * 0.1)
    return spaces.pipeline(
        output,
        name="conv_5x5",
        estimates={
            image: [CHANNELS_IN, SIZE, SIZE, BATCH],
            weights: [CHANNELS_OUT, CHANNELS_IN, 5, 5],
            output: [CHANNELS_OUT, SIZE, SIZE, BATCH],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A contraction of windows of the padded images."""
    image, weights = (inputs[name].astype(np.float64) for name in ("image", "weights"))
    padded = np.pad(image, ((0, 0), (2, 2), (2, 2), (0, 0)))
    windows = sliding_window_view(padded, (5, 5), (1, 2))
    total = np.einsum("nyxkji,jikc->nyxc", windows, weights, optimize=True)
    found: Array = np.where(total < 0, total / 10, total)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="conv_5x5",
    kind=PipelineKind.CONVOLUTIONS,
    summary="padded convolution of 5x5, 16 to 24 channels, 8 images of 64x64, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"image": around_zero(1.0), "weights": around_zero(0.05)},
    small={
        "image": (CHANNELS_IN, 21, 13, 2),
        "weights": (11, CHANNELS_IN, 5, 5),
        "output": (11, 21, 13, 2),
    },
    tolerance=5e-6,
)
