"""The magnitude of products of complex numbers, as in a correlation of spectra."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

LENGTH = 1 << 22


def pipeline() -> Pipeline:
    """Real and imaginary parts alternate; the second factor is conjugated."""
    i = Var("i")
    a, b = ImageParam(Float32, 2, "a"), ImageParam(Float32, 2, "b")
    product, output = Func("product"), Func("output")
    product[i] = (
        a[0, i] * b[0, i] + a[1, i] * b[1, i],
        a[1, i] * b[0, i] - a[0, i] * b[1, i],
    )
    real, imaginary = product[i]
    output[i] = sqrt(real * real + imaginary * imaginary)
    return spaces.pipeline(
        output,
        name="complex_magnitude",
        estimates={a: [2, LENGTH], b: [2, LENGTH], output: [LENGTH]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The product of the magnitudes."""
    a, b = (np.hypot(*inputs[name].T.astype(np.float64)) for name in ("a", "b"))
    magnitudes: Array = a * b
    return magnitudes


GALLERY_PIPELINE = GalleryPipeline(
    name="complex_magnitude",
    kind=PipelineKind.POINTWISE,
    summary="magnitude of 4 million products of complex numbers, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"a": values_in(-1, 1), "b": values_in(-1, 1)},
    small={"a": (2, 337), "b": (2, 337), "output": (337,)},
)
