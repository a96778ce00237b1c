"""Two pictures compared at three sizes of boxes: some two dozen filters and pointwise stages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2048, 1536
SIDES = (3, 5, 9)
MARGIN = 4
WEIGHTS = (0.5, 0.3, 0.2)


def pipeline() -> Pipeline:
    """At each size: means of both pictures and of the square of their difference, each in two
    passes; the square of the difference of the means over the mean square. A weighted sum.
    """
    x, y = Var("x"), Var("y")
    first, second = ImageParam(Float32, 2, "first"), ImageParam(Float32, 2, "second")
    difference = Func("difference")
    apart = first[x, y] - second[x, y]
    difference[x, y] = apart * apart

    def mean(of: Func | ImageParam, name: str, side: int) -> Func:
        across, down = Func(f"{name}_across_{side}"), Func(f"{name}_{side}")
        reach = range(MARGIN - side // 2, MARGIN + side // 2 + 1)
        across[x, y] = reduce(add, (of[x + d, y] for d in reach)) * (1.0 / side)
        down[x, y] = reduce(add, (across[x, y + d] for d in reach)) * (1.0 / side)
        return down

    terms = []
    for side, weight in zip(SIDES, WEIGHTS, strict=True):
        m1, m2 = mean(first, "first", side), mean(second, "second", side)
        squares, share = mean(difference, "squares", side), Func(f"share_{side}")
        means_apart = m1[x, y] - m2[x, y]
        share[x, y] = means_apart * means_apart / (squares[x, y] + 0.001)
        terms.append(share[x, y] * weight)
    output = Func("output")
    output[x, y] = reduce(add, terms)
    around = [WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN]
    return spaces.pipeline(
        output,
        name="radii_compared",
        estimates={first: around, second: around, output: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows."""
    first, second = (inputs[name].astype(np.float64) for name in ("first", "second"))

    def mean(values: Array, side: int) -> Array:
        cut = MARGIN - side // 2
        inner = values[cut : values.shape[0] - cut, cut : values.shape[1] - cut]
        means: Array = sliding_window_view(inner, (side, side)).mean((2, 3))
        return means

    total: Array = np.zeros(1)
    for side, weight in zip(SIDES, WEIGHTS, strict=True):
        apart = mean(first, side) - mean(second, side)
        total = total + weight * apart**2 / (mean((first - second) ** 2, side) + 0.001)
    return total


GALLERY_PIPELINE = GalleryPipeline(
    name="radii_compared",
    kind=PipelineKind.FILTERED_PRODUCTS,
    summary="two pictures compared in boxes of 3x3, 5x5 and 9x9, float32",
    pipeline=pipeline,
    expected=expected,
    small={"first": (45, 31), "second": (45, 31), "output": (37, 23)},
    tolerance=1e-5,
)
