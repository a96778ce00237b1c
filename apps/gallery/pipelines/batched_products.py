"""Many products of small matrices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIZE, BATCH = 16, 4096


def pipeline() -> Pipeline:
    """A matrix is an array of rows; matrix ``b`` of the output is the product of two of 16x16."""
    i, j, b = Var("i"), Var("j"), Var("b")
    left, right = ImageParam(Float32, 3, "left"), ImageParam(Float32, 3, "right")
    product = Func("product")
    k = RDom([(0, SIZE)], "k")
    product[j, i, b] = 0.0
    product[j, i, b] += left[k, i, b] * right[j, k, b]
    size = [SIZE, SIZE, BATCH]
    return spaces.pipeline(
        product, name="batched_products", estimates={left: size, right: size, product: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's product of stacks of matrices."""
    left, right = (inputs[name].astype(np.float64) for name in ("left", "right"))
    return left @ right


GALLERY_PIPELINE = GalleryPipeline(
    name="batched_products",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="4096 products of matrices of 16x16, float32",
    pipeline=pipeline,
    expected=expected,
    small={"left": (SIZE, SIZE, 7), "right": (SIZE, SIZE, 7), "product": (SIZE, SIZE, 7)},
)
