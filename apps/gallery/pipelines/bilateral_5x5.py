"""A bilateral filter of 5x5, computed as it is defined."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, exp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1600, 1200
SIDE = 5
SPREAD, APART = 2.0, 0.1


def pipeline() -> Pipeline:
    """Weights from distances and from differences of values; sums of weights and weighted values
    as one update of two values.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    half = SIDE // 2
    r = RDom([(0, SIDE), (0, SIDE)], "r")
    sums, output = Func("sums"), Func("output")
    value, centre = image[x + r.x, y + r.y], image[x + half, y + half]
    distance = spaces.f32((r.x - half) * (r.x - half) + (r.y - half) * (r.y - half))
    difference = value - centre
    weight = exp(distance * (-0.5 / SPREAD**2) - difference * difference * (0.5 / APART**2))
    sums[x, y] = (0.0, 0.0)
    sums[x, y] = (sums[x, y][0] + weight, sums[x, y][1] + weight * value)
    output[x, y] = sums[x, y][1] / sums[x, y][0]
    around = [WIDTH + SIDE - 1, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        output, name="bilateral_5x5", estimates={image: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows."""
    half = SIDE // 2
    windows = sliding_window_view(inputs["image"].astype(np.float64), (SIDE, SIDE))
    centre = windows[:, :, half, half, None, None]
    squares = (np.arange(SIDE) - half) ** 2
    weight = np.exp(
        -np.add.outer(squares, squares) / (2 * SPREAD**2) - (windows - centre) ** 2 / (2 * APART**2)
    )
    found: Array = (weight * windows).sum((2, 3)) / weight.sum((2, 3))
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="bilateral_5x5",
    kind=PipelineKind.BILATERAL,
    summary="bilateral filter of 5x5, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (41, 27), "output": (37, 23)},
    tolerance=1e-5,
)
