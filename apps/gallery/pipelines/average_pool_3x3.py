"""Pooling of a layer by the means of 3x3 pixels, every second pixel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Expr, Float32, Func, ImageParam, Pipeline, RDom, Var, boundary, f32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, CHANNELS = 112, 112, 64


def pipeline() -> Pipeline:
    """The sum over the window, which is 0 outside of the layer, over the number of pixels that lie
    inside.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    layer = ImageParam(Float32, 3, "layer")
    outside = boundary.constant_exterior(layer, 0.0, [(0, layer.width()), (0, layer.height())])
    total, output = Func("total"), Func("output")
    r = RDom([(-1, 3), (-1, 3)], "r")
    total[x, y, c] += outside[2 * x + r.x, 2 * y + r.y, c]

    def count(at: Expr, extent: Expr) -> Expr:
        return spaces.min(2 * at + 1, extent - 1) - spaces.max(2 * at - 1, 0) + 1

    inside = count(x, layer.width()) * count(y, layer.height())
    output[x, y, c] = total[x, y, c] / f32(inside)
    return spaces.pipeline(
        output,
        name="average_pool_3x3",
        estimates={
            layer: [WIDTH, HEIGHT, CHANNELS],
            output: [WIDTH // 2, HEIGHT // 2, CHANNELS],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The means of windows without what is not a number."""
    layer = inputs["layer"].astype(np.float64)
    padded = np.pad(layer, ((0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    means: Array = np.nanmean(windows, axis=(3, 4))
    return means


GALLERY_PIPELINE = GalleryPipeline(
    name="average_pool_3x3",
    kind=PipelineKind.POOLING,
    summary="means of 3x3 pixels, stride 2, within borders, 64 channels, float32",
    pipeline=pipeline,
    expected=expected,
    small={"layer": (37, 23, 5), "output": (19, 12, 5)},
)
