"""How alike the pictures of two batches are in each window: Wang and Bovik's index of quality."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Expr, Func, ImageParam, Pipeline, RDom, UInt8, Var, f64, u32, u64
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIZE, PAIRS = 128, 40
SIDE = 8
AREA = SIDE * SIDE


def pipeline() -> Pipeline:
    """Sums over 8x8 pixels of both pictures, their squares and their product, each in one pass;
    the product of the likeness of means, of deviations and of the correlation.
    """
    x, y, n = Var("x"), Var("y"), Var("n")
    first, second = ImageParam(UInt8, 3, "first"), ImageParam(UInt8, 3, "second")

    def total(name: str, *of: ImageParam) -> Expr:
        sums, r = Func(name), RDom([(0, SIDE), (0, SIDE)], f"{name}_r")
        values = [u32(one[x + r.x, y + r.y, n]) for one in of]
        sums[x, y, n] = u32(0)
        sums[x, y, n] += values[0] if len(values) == 1 else values[0] * values[1]
        return u64(sums[x, y, n])

    a, b = total("sum_a", first), total("sum_b", second)
    squares = total("squares_a", first, first) + total("squares_b", second, second)
    common = f64(AREA * total("products", first, second)) - f64(a * b)
    spread = f64(AREA * squares) - f64(a * a + b * b)
    output = Func("output")
    output[x, y, n] = 4.0 * common * f64(a * b) / ((spread + 1.0) * (f64(a * a + b * b) + 1.0))
    around, size = [SIZE, SIZE, PAIRS], [SIZE - SIDE + 1, SIZE - SIDE + 1, PAIRS]
    return spaces.pipeline(
        output, name="quality_index", estimates={first: around, second: around, output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """From means, variances and covariances of windows."""
    first, second = (
        sliding_window_view(inputs[name].astype(np.float64), (SIDE, SIDE), (1, 2))
        for name in ("first", "second")
    )
    a, b = first.mean((3, 4)), second.mean((3, 4))
    covariance = (first * second).mean((3, 4)) - a * b
    spread = first.var((3, 4)) + second.var((3, 4)) + 1 / AREA**2
    quality: Array = 4 * covariance * a * b / (spread * (a * a + b * b + 1 / AREA**2))
    return quality


GALLERY_PIPELINE = GalleryPipeline(
    name="quality_index",
    kind=PipelineKind.FILTERED_PRODUCTS,
    summary="index of quality in windows of 8x8, 40 pairs of 128x128, 8 bits to float64",
    pipeline=pipeline,
    expected=expected,
    small={"first": (44, 30, 2), "second": (44, 30, 2), "output": (37, 23, 2)},
    tolerance=1e-10,
)
