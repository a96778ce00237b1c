"""Softmax: the values of each row become shares of one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, exp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

COLUMNS, ROWS = 1000, 4096


def pipeline() -> Pipeline:
    """Exponentials of the values less the largest of their row, over their sum."""
    x, y = Var("x"), Var("y")
    logits = ImageParam(Float32, 2, "logits")
    peak, weight, total, output = map(Func, ("peak", "weight", "total", "output"))
    r, s = RDom([(0, logits.width())], "r"), RDom([(0, logits.width())], "s")
    peak[y] = spaces.maximum(logits[r, y], "largest")
    weight[x, y] = exp(logits[x, y] - peak[y])
    total[y] = 0.0
    total[y] += weight[s, y]
    output[x, y] = weight[x, y] / total[y]
    size = [COLUMNS, ROWS]
    return spaces.pipeline(output, name="softmax_rows", estimates={logits: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same, without the largest value."""
    weights = np.exp(inputs["logits"].astype(np.float64))
    shares: Array = weights / weights.sum(1, keepdims=True)
    return shares


GALLERY_PIPELINE = GalleryPipeline(
    name="softmax_rows",
    kind=PipelineKind.NORMALISATION,
    summary="softmax of 4096 rows of 1000 values, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"logits": values_in(-8, 8)},
    small={"logits": (37, 23), "output": (37, 23)},
)
