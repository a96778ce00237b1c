"""A large matrix times a vector: bound by memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIZE = 4096


def pipeline() -> Pipeline:
    """The sum over each row of 4096, plus the vector itself."""
    i = Var("i")
    matrix, vector = ImageParam(Float32, 2, "matrix"), ImageParam(Float32, 1, "vector")
    product = Func("product")
    k = RDom([(0, matrix.width())], "k")
    product[i] = vector[i]
    product[i] += matrix[k, i] * vector[k]
    return spaces.pipeline(
        product,
        name="matrix_vector",
        estimates={matrix: [SIZE, SIZE], vector: [SIZE], product: [SIZE]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's product."""
    matrix, vector = (inputs[name].astype(np.float64) for name in ("matrix", "vector"))
    return matrix @ vector + vector


GALLERY_PIPELINE = GalleryPipeline(
    name="matrix_vector",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="4096 x 4096 times a vector, float32",
    pipeline=pipeline,
    expected=expected,
    small={"matrix": (137, 137), "vector": (137,), "product": (137,)},
    tolerance=4e-6,
)
