"""A tall matrix times a small one, as features are projected."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Param, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

ROWS, INNER, COLUMNS = 100_000, 64, 24


def pipeline() -> Pipeline:
    """Each of 100,000 rows of 64 features becomes 24 values, less a threshold, negative ones 0."""
    i, j = Var("i"), Var("j")
    features, weights = ImageParam(Float32, 2, "features"), ImageParam(Float32, 2, "weights")
    threshold = Param(Float32, "threshold", 14.0)
    product, output = Func("product"), Func("output")
    k = RDom([(0, INNER)], "k")
    product[j, i] = -threshold
    product[j, i] += features[k, i] * weights[j, k]
    output[j, i] = spaces.max(product[j, i], 0.0)
    return spaces.pipeline(
        output,
        name="tall_product",
        estimates={
            features: [INNER, ROWS],
            weights: [COLUMNS, INNER],
            output: [COLUMNS, ROWS],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's product."""
    features, weights = (inputs[name].astype(np.float64) for name in ("features", "weights"))
    return np.maximum(features @ weights - 14.0, 0.0)


GALLERY_PIPELINE = GalleryPipeline(
    name="tall_product",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="100000 x 64 times 64 x 24, rectified, float32",
    pipeline=pipeline,
    expected=expected,
    small={"features": (INNER, 37), "weights": (23, INNER), "output": (23, 37)},
    tolerance=4e-6,
)
