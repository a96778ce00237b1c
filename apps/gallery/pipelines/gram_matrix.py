"""The covariance of many signals: products of all pairs of columns, in double precision."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float64, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIGNALS, SAMPLES = 96, 20_000


def pipeline() -> Pipeline:
    """The mean of each signal, the signals less their means, and the mean products of all pairs."""
    i, j, t = Var("i"), Var("j"), Var("t")
    signals = ImageParam(Float64, 2, "signals")
    samples = RDom([(0, signals.height())], "samples")
    total, centred = Func("total"), Func("centred")
    total[i] = spaces.f64(0.0)
    total[i] += signals[i, samples]
    count = spaces.f64(signals.height())
    centred[i, t] = signals[i, t] - total[i] / count
    product, covariance = Func("product"), Func("covariance")
    product[i, j] = spaces.f64(0.0)
    product[i, j] += centred[i, samples] * centred[j, samples]
    covariance[i, j] = product[i, j] / count
    return spaces.pipeline(
        covariance,
        name="gram_matrix",
        estimates={signals: [SIGNALS, SAMPLES], covariance: [SIGNALS, SIGNALS]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's covariance."""
    return np.cov(inputs["signals"], rowvar=False, bias=True)


GALLERY_PIPELINE = GalleryPipeline(
    name="gram_matrix",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="covariance of 96 signals of 20000 samples, float64",
    pipeline=pipeline,
    expected=expected,
    small={"signals": (23, 137), "covariance": (23, 23)},
    tolerance=1e-12,
)
