"""The mean of each channel of a layer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, f32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, CHANNELS, IMAGES = 56, 56, 256, 8


def pipeline() -> Pipeline:
    """A sum over all pixels, over their number."""
    c, n = Var("c"), Var("n")
    layer = ImageParam(Float32, 4, "layer")
    total, output = Func("total"), Func("output")
    r = RDom([(0, layer.width()), (0, layer.height())], "r")
    total[c, n] += layer[r.x, r.y, c, n]
    output[c, n] = total[c, n] / f32(layer.width() * layer.height())
    return spaces.pipeline(
        output,
        name="global_average",
        estimates={layer: [WIDTH, HEIGHT, CHANNELS, IMAGES], output: [CHANNELS, IMAGES]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The means of planes."""
    means: Array = inputs["layer"].mean((2, 3), dtype=np.float64)
    return means


GALLERY_PIPELINE = GalleryPipeline(
    name="global_average",
    kind=PipelineKind.POOLING,
    summary="mean of each of 8 x 256 channels of 56x56 pixels, float32",
    pipeline=pipeline,
    expected=expected,
    small={"layer": (13, 11, 17, 3), "output": (17, 3)},
)
