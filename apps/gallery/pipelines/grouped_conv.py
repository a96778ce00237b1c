"""A convolution in groups of channels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

INNER, GROUPS, SIZE = 8, 16, 28


def pipeline() -> Pipeline:
    """Each of 16 groups of 8 channels, channels innermost, by 3x3 pixels of its own group."""
    c, g, x, y = Var("c"), Var("g"), Var("x"), Var("y")
    image, weights = ImageParam(Float32, 4, "image"), ImageParam(Float32, 5, "weights")
    output = Func("output")
    r = RDom([(0, INNER), (0, 3), (0, 3)], "r")
    output[c, g, x, y] = 0.0
    output[c, g, x, y] += weights[c, r.x, r.y, r.z, g] * image[r.x, g, x + r.y, y + r.z]
    return spaces.pipeline(
        output,
        name="grouped_conv",
        estimates={
            image: [INNER, GROUPS, SIZE + 2, SIZE + 2],
            weights: [INNER, INNER, 3, 3, GROUPS],
            output: [INNER, GROUPS, SIZE, SIZE],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A contraction of windows with the weights of each group."""
    image, weights = (inputs[name].astype(np.float64) for name in ("image", "weights"))
    windows = sliding_window_view(image, (3, 3), (0, 1))
    found: Array = np.einsum("yxgkij,gjikc->yxgc", windows, weights.transpose(0, 2, 1, 3, 4))
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="grouped_conv",
    kind=PipelineKind.CONVOLUTIONS,
    summary="convolution of 3x3 in 16 groups of 8 channels, 28x28, float32",
    pipeline=pipeline,
    expected=expected,
    small={
        "image": (INNER, 3, 9, 7),
        "weights": (INNER, INNER, 3, 3, 3),
        "output": (INNER, 3, 7, 5),
    },
)
