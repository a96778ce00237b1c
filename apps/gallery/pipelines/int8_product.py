"""A product of quantised matrices whose second one is stored transposed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int8, Int32, Pipeline, RDom, Var, cast, i8_sat, i32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIZE, INNER = 512, 768
SHIFT = 14


def pipeline() -> Pipeline:
    """Sums in 32 bits, plus a bias for each column, scaled by a power of two and cut to 8 bits."""
    i, j = Var("i"), Var("j")
    left, right = ImageParam(Int8, 2, "left"), ImageParam(Int8, 2, "right")
    bias = ImageParam(Int32, 1, "bias")
    total, output = Func("total"), Func("output")
    k = RDom([(0, INNER)], "k")
    total[j, i] = bias[j]
    total[j, i] += i32(left[k, i]) * i32(right[k, j])
    half = cast(Int32, 1 << (SHIFT - 1))
    output[j, i] = i8_sat((total[j, i] + half) >> SHIFT)
    return spaces.pipeline(
        output,
        name="int8_product",
        estimates={
            left: [INNER, SIZE],
            right: [INNER, SIZE],
            bias: [SIZE],
            output: [SIZE, SIZE],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's product of the first matrix and the transpose of the second."""
    left, right = (inputs[name].astype(np.int64) for name in ("left", "right"))
    total = left @ right.T + inputs["bias"]
    cut: Array = np.clip((total + (1 << (SHIFT - 1))) >> SHIFT, -128, 127).astype(np.int8)
    return cut


GALLERY_PIPELINE = GalleryPipeline(
    name="int8_product",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="512 x 768 times the transpose of 512 x 768, int8 by 32-bit sums",
    pipeline=pipeline,
    expected=expected,
    inputs={"bias": values_in(-1_000_000, 1_000_000)},
    small={"left": (INNER, 37), "right": (INNER, 23), "bias": (23,), "output": (23, 37)},
)
