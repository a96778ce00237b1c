"""One head of attention."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, exp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

TOKENS, FEATURES = 512, 64


def pipeline() -> Pipeline:
    """Scores of all pairs of tokens, their softmax over the keys, and the means of values by it."""
    k, q, f = Var("k"), Var("q"), Var("f")
    queries, keys = ImageParam(Float32, 2, "queries"), ImageParam(Float32, 2, "keys")
    values = ImageParam(Float32, 2, "values")
    r, t = RDom([(0, FEATURES)], "r"), RDom([(0, keys.height())], "t")
    scores, largest, share = Func("scores"), Func("largest"), Func("share")
    scores[k, q] = 0.0
    scores[k, q] += queries[r, q] * keys[r, k]
    largest[q] = scores[0, q]
    largest[q] = spaces.max(largest[q], scores[t, q])
    share[k, q] = exp((scores[k, q] - largest[q]) * FEATURES**-0.5)
    total, mixed, output = Func("total"), Func("mixed"), Func("output")
    total[q] = 0.0
    total[q] += share[t, q]
    mixed[f, q] = 0.0
    mixed[f, q] += share[t, q] * values[f, t]
    output[f, q] = mixed[f, q] / total[q]
    size = [FEATURES, TOKENS]
    return spaces.pipeline(
        output,
        name="attention_head",
        estimates={queries: size, keys: size, values: size, output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Two products of matrices with a softmax between them."""
    queries, keys, values = (
        inputs[name].astype(np.float64) for name in ("queries", "keys", "values")
    )
    scores = np.exp(queries @ keys.T / np.sqrt(FEATURES))
    found: Array = scores / scores.sum(axis=1, keepdims=True) @ values
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="attention_head",
    kind=PipelineKind.ATTENTION,
    summary="attention of 512 tokens with 64 features, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={name: around_zero(1.0) for name in ("queries", "keys", "values")},
    small={
        "queries": (FEATURES, 23),
        "keys": (FEATURES, 37),
        "values": (FEATURES, 37),
        "output": (FEATURES, 23),
    },
    tolerance=4e-6,
)
