"""Attention of several heads in which no token sees later ones, from one packed array."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, exp, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

FEATURES, HEADS, TOKENS, BATCH = 32, 8, 256, 4
SCALE = FEATURES**-0.5


def pipeline() -> Pipeline:
    """``packed`` holds the query, the key and the value of each head and token beside each other.
    Weights of later tokens are 0.
    """
    d, j, h, i, n = (Var(name) for name in "djhin")
    packed = ImageParam(Float32, 4, "packed")
    scores, peak, weight, total = map(Func, ("scores", "peak", "weight", "total"))
    mixed, output = Func("mixed"), Func("output")
    tokens = packed.extent(2)
    k = RDom([(0, FEATURES)], "k")
    r, s, t = (RDom([(0, tokens)], name) for name in "rst")
    scores[j, i, h, n] = 0.0
    scores[j, i, h, n] += packed[k, h, i, n] * packed[k + FEATURES, h, j, n]
    peak[i, h, n] = spaces.maximum(scores[r, i, h, n], "largest")
    fit = exp((scores[j, i, h, n] - peak[i, h, n]) * SCALE)
    weight[j, i, h, n] = select(j <= i, fit, 0.0)
    total[i, h, n] = 0.0
    total[i, h, n] += weight[s, i, h, n]
    mixed[d, h, i, n] = 0.0
    mixed[d, h, i, n] += weight[t, i, h, n] * packed[d + 2 * FEATURES, h, t, n]
    output[d, h, i, n] = mixed[d, h, i, n] / total[i, h, n]
    return spaces.pipeline(
        output,
        name="causal_attention",
        estimates={
            packed: [3 * FEATURES, HEADS, TOKENS, BATCH],
            output: [FEATURES, HEADS, TOKENS, BATCH],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Contractions, and scores of minus infinity for later tokens."""
    queries, keys, values = np.split(inputs["packed"].astype(np.float64), 3, axis=3)
    scores = np.einsum("nihd,njhd->nhij", queries, keys) * SCALE
    scores[..., ~np.tri(scores.shape[-1], dtype=bool)] = -np.inf
    weight = np.exp(scores - scores.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    mixed: Array = np.einsum("nhij,njhd->nihd", weight, values)
    return mixed


GALLERY_PIPELINE = GalleryPipeline(
    name="causal_attention",
    kind=PipelineKind.ATTENTION,
    summary="causal attention of 8 heads, batch of 4 with 256 tokens, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"packed": around_zero(1.0)},
    small={"packed": (3 * FEATURES, 3, 21, 2), "output": (FEATURES, 3, 21, 2)},
    tolerance=1e-5,
)
