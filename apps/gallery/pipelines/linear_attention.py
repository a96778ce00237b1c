"""Attention whose weights are products of positive features, so that tokens are summed once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Expr, Float64, Func, ImageParam, Pipeline, RDom, Var, exp, f64, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

FEATURES, TOKENS = 32, 16384


def pipeline() -> Pipeline:
    """The sum over tokens of each feature of a key times each one of a value, and the sum of keys;
    both are multiplied by the features of a query.
    """
    d, e, i = Var("d"), Var("e"), Var("i")
    queries, keys, values = (ImageParam(Float64, 2, n) for n in ("queries", "keys", "values"))

    def positive(value: Expr) -> Expr:
        return select(value > 0.0, value + 1.0, exp(value))

    asked, offered, pairs, offers = map(Func, ("asked", "offered", "pairs", "offers"))
    mixed, total, output = map(Func, ("mixed", "total", "output"))
    asked[e, i] = positive(queries[e, i])
    offered[e, i] = positive(keys[e, i])
    s, t = (RDom([(0, keys.height())], name) for name in "st")
    k, m = (RDom([(0, keys.width())], name) for name in "km")
    pairs[d, e] = f64(0)
    pairs[d, e] += offered[e, s] * values[d, s]
    offers[e] = f64(0)
    offers[e] += offered[e, t]
    mixed[d, i] = f64(0)
    mixed[d, i] += asked[k, i] * pairs[d, k]
    total[i] = f64(0)
    total[i] += asked[m, i] * offers[m]
    output[d, i] = mixed[d, i] / total[i]
    size = [FEATURES, TOKENS]
    return spaces.pipeline(
        output,
        name="linear_attention",
        estimates={queries: size, keys: size, values: size, output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The weight of each pair of tokens."""

    def positive(values: Array) -> Array:
        made: Array = np.exp(np.minimum(values, 0)) + np.maximum(values, 0)
        return made

    weight = positive(inputs["queries"]) @ positive(inputs["keys"]).T
    mixed: Array = weight @ inputs["values"] / weight.sum(1, keepdims=True)
    return mixed


GALLERY_PIPELINE = GalleryPipeline(
    name="linear_attention",
    kind=PipelineKind.ATTENTION,
    summary="attention by sums over 16384 tokens of 32 features, float64",
    pipeline=pipeline,
    expected=expected,
    inputs={name: around_zero(1.0) for name in ("queries", "keys", "values")},
    small={"queries": (19, 37), "keys": (19, 23), "values": (29, 23), "output": (29, 37)},
    tolerance=1e-12,
)
