"""Batch normalisation by given statistics, and a rectifier."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, CHANNELS, IMAGES = 56, 56, 64, 8
EPSILON = 1e-3


def pipeline() -> Pipeline:
    """A factor and an offset for each channel from its statistics, applied to each pixel."""
    x, y, c, n = Var("x"), Var("y"), Var("c"), Var("n")
    layer = ImageParam(Float32, 4, "layer")
    mean, variance, scale, shift = statistics = [
        ImageParam(Float32, 1, name) for name in ("mean", "variance", "scale", "shift")
    ]
    factor, offset, output = Func("factor"), Func("offset"), Func("output")
    factor[c] = scale[c] / sqrt(variance[c] + EPSILON)
    offset[c] = shift[c] - mean[c] * factor[c]
    output[x, y, c, n] = spaces.max(layer[x, y, c, n] * factor[c] + offset[c], 0.0)
    size = [WIDTH, HEIGHT, CHANNELS, IMAGES]
    return spaces.pipeline(
        output,
        name="batch_norm_relu",
        estimates={layer: size, output: size, **{one: [CHANNELS] for one in statistics}},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The definition, with statistics as columns of channels."""
    given = {name: array.astype(np.float64) for name, array in inputs.items()}
    mean, variance, scale, shift = (
        given[name][:, None, None] for name in ("mean", "variance", "scale", "shift")
    )
    normal = scale * (given["layer"] - mean) / np.sqrt(variance + EPSILON) + shift
    return np.maximum(normal, 0.0)


GALLERY_PIPELINE = GalleryPipeline(
    name="batch_norm_relu",
    kind=PipelineKind.NORMALISATION,
    summary="batch norm by given statistics and ReLU, 8 x 64 channels, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"layer": values_in(-2, 2), "variance": values_in(0.1, 2)},
    small={
        "layer": (13, 11, 7, 3),
        "mean": (7,),
        "variance": (7,),
        "scale": (7,),
        "shift": (7,),
        "output": (13, 11, 7, 3),
    },
)
