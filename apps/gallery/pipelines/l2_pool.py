"""Pooling by the root of the mean square of overlapping windows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float64, Func, ImageParam, Pipeline, RDom, Var, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, PLANES = 1000, 750, 4
SIDE, STRIDE = 5, 3


def pipeline() -> Pipeline:
    """Sums of squares along lines, then along columns, of 5x5 pixels at every third pixel."""
    x, y, p = Var("x"), Var("y"), Var("p")
    planes = ImageParam(Float64, 3, "planes")
    lines, squares, output = Func("lines"), Func("squares"), Func("output")
    r, s = RDom([(0, SIDE)], "r"), RDom([(0, SIDE)], "s")
    lines[x, y, p] += planes[STRIDE * x + r, y, p] * planes[STRIDE * x + r, y, p]
    squares[x, y, p] += lines[x, STRIDE * y + s, p]
    output[x, y, p] = sqrt(squares[x, y, p] / float(SIDE * SIDE))
    around = [STRIDE * (extent - 1) + SIDE for extent in (WIDTH, HEIGHT)]
    return spaces.pipeline(
        output,
        name="l2_pool",
        estimates={planes: [*around, PLANES], output: [WIDTH, HEIGHT, PLANES]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The means of whole windows."""
    windows = sliding_window_view(inputs["planes"] ** 2, (SIDE, SIDE), axis=(1, 2))
    means: Array = windows[:, ::STRIDE, ::STRIDE].mean((3, 4))
    return np.sqrt(means)


GALLERY_PIPELINE = GalleryPipeline(
    name="l2_pool",
    kind=PipelineKind.POOLING,
    summary="root of the mean square of 5x5 pixels, stride 3, four planes, float64",
    pipeline=pipeline,
    expected=expected,
    inputs={"planes": values_in(-1, 1)},
    small={"planes": (41, 35, 3), "output": (13, 11, 3)},
    tolerance=1e-12,
)
