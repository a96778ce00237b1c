"""Attention of each sample of a signal to its neighbours."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, exp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

FEATURES, TOKENS = 16, 20000
REACH = 12
"""Neighbours on each side."""


def pipeline() -> Pipeline:
    """The softmax of the products with 25 neighbours, and their mean with its weights."""
    d, i, o = Var("d"), Var("i"), Var("o")
    signal = ImageParam(Float32, 2, "signal")
    bias = ImageParam(Float32, 1, "bias")
    scores, weight, total = Func("scores"), Func("weight"), Func("total")
    mixed, output = Func("mixed"), Func("output")
    k = RDom([(0, FEATURES)], "k")
    s, t = (RDom([(0, 2 * REACH + 1)], name) for name in "st")
    scores[i, o] = bias[o]
    scores[i, o] += signal[i + REACH, k] * signal[i + o, k]
    weight[i, o] = exp(scores[i, o])
    total[i] = 0.0
    total[i] += weight[i, s]
    mixed[i, d] = 0.0
    mixed[i, d] += weight[i, t] * signal[i + t, d]
    output[i, d] = mixed[i, d] / total[i]
    return spaces.pipeline(
        output,
        name="window_attention",
        estimates={
            signal: [TOKENS + 2 * REACH, FEATURES],
            bias: [2 * REACH + 1],
            output: [TOKENS, FEATURES],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Contractions of windows."""
    signal = inputs["signal"].astype(np.float64)
    windows = sliding_window_view(signal, 2 * REACH + 1, 1)
    scores = np.einsum("ki,kio->io", signal[:, REACH:-REACH], windows) + inputs["bias"]
    weight = np.exp(scores)
    mixed: Array = np.einsum("io,dio->di", weight / weight.sum(1, keepdims=True), windows)
    return mixed


GALLERY_PIPELINE = GalleryPipeline(
    name="window_attention",
    kind=PipelineKind.ATTENTION,
    summary="attention to 25 neighbours, 20000 samples of 16 features, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"signal": around_zero(0.4), "bias": around_zero(0.5)},
    small={"signal": (37 + 2 * REACH, FEATURES), "bias": (25,), "output": (37, FEATURES)},
    tolerance=1e-5,
)
