"""Distances of all points of one set from all points of another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, max, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

FEATURES, FIRST, SECOND = 24, 3000, 2000


def pipeline() -> Pipeline:
    """The squares of both, less twice their product; features are the outer dimension."""
    i, j = Var("i"), Var("j")
    first, second = ImageParam(Float32, 2, "first"), ImageParam(Float32, 2, "second")
    products, output = Func("products"), Func("output")

    def squares(of: ImageParam, name: str) -> Func:
        total, k = Func(f"{name}_squares"), RDom([(0, FEATURES)], f"{name}_k")
        total[i] = 0.0
        total[i] += of[i, k] * of[i, k]
        return total

    firsts, seconds = squares(first, "first"), squares(second, "second")
    k = RDom([(0, FEATURES)], "k")
    products[i, j] = 0.0
    products[i, j] += first[i, k] * second[j, k]
    output[i, j] = sqrt(max(firsts[i] + seconds[j] - 2.0 * products[i, j], 0.0))
    return spaces.pipeline(
        output,
        name="distance_matrix",
        estimates={
            first: [FIRST, FEATURES],
            second: [SECOND, FEATURES],
            output: [FIRST, SECOND],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Norms of differences."""
    first, second = (inputs[name].astype(np.float64) for name in ("first", "second"))
    distances: Array = np.linalg.norm(first[:, None, :] - second[:, :, None], axis=0)
    return distances


GALLERY_PIPELINE = GalleryPipeline(
    name="distance_matrix",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="distances of 3000 points from 2000 others, 24 features, float32",
    pipeline=pipeline,
    expected=expected,
    small={"first": (37, FEATURES), "second": (23, FEATURES), "output": (37, 23)},
    tolerance=1e-5,
)
