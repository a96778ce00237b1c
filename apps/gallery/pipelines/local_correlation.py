"""How two pictures vary together around each pixel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Expr, Func, ImageParam, Pipeline, RDom, UInt8, Var, f32, i32, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2000, 1500
SIDE = 7
AREA = SIDE * SIDE


def pipeline() -> Pipeline:
    """Sums over 7x7 of both, of their squares and of their product, down and across, in whole
    numbers; the covariance over the root of the product of the variances.
    """
    x, y = Var("x"), Var("y")
    first, second = ImageParam(UInt8, 2, "first"), ImageParam(UInt8, 2, "second")
    a, b = Func("a"), Func("b")
    a[x, y], b[x, y] = i32(first[x, y]), i32(second[x, y])

    def total(of: Func, other: Func | None, name: str) -> Expr:
        down, across = Func(f"{name}_down"), Func(name)
        r, s = RDom([(0, SIDE)], f"{name}_r"), RDom([(0, SIDE)], f"{name}_s")
        value = of[x, y + r] if other is None else of[x, y + r] * other[x, y + r]
        down[x, y] = 0
        down[x, y] += value
        across[x, y] = 0
        across[x, y] += down[x + s, y]
        return across[x, y].as_expr()

    sum_a, sum_b = total(a, None, "sum_a"), total(b, None, "sum_b")
    common = AREA * total(a, b, "sum_ab") - sum_a * sum_b
    alone_a = AREA * total(a, a, "sum_aa") - sum_a * sum_a
    alone_b = AREA * total(b, b, "sum_bb") - sum_b * sum_b
    output = Func("output")
    output[x, y] = f32(common) / sqrt((f32(alone_a) + 1.0) * (f32(alone_b) + 1.0))
    around = [WIDTH + SIDE - 1, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        output,
        name="local_correlation",
        estimates={first: around, second: around, output: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """From windows less their means."""
    first, second = (
        sliding_window_view(inputs[name].astype(np.float64), (SIDE, SIDE))
        for name in ("first", "second")
    )
    first = first - first.mean((2, 3), keepdims=True)
    second = second - second.mean((2, 3), keepdims=True)
    # In the pipeline's unit: AREA times the sums of squares.
    deviations = [AREA * (one * one).sum((2, 3)) + 1 for one in (first, second)]
    found: Array = AREA * (first * second).sum((2, 3)) / np.sqrt(deviations[0] * deviations[1])
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="local_correlation",
    kind=PipelineKind.FILTERED_PRODUCTS,
    summary="correlation of two pictures in boxes of 7x7, 8 bits to float32",
    pipeline=pipeline,
    expected=expected,
    small={"first": (43, 29), "second": (43, 29), "output": (37, 23)},
)
