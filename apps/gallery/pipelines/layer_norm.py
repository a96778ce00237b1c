"""Layer normalisation of tokens, with a scale and a shift for each feature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, f32, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

FEATURES, TOKENS = 768, 2048
EPSILON = 1e-5


def pipeline() -> Pipeline:
    """The deviation from the mean of a token, over the root of the mean squared deviation."""
    i, t = Var("i"), Var("t")
    tokens = ImageParam(Float32, 2, "tokens")
    scale, shift = ImageParam(Float32, 1, "scale"), ImageParam(Float32, 1, "shift")
    mean, deviation, variance, output = map(Func, ("mean", "deviation", "variance", "output"))
    count = f32(tokens.width())
    r, s = RDom([(0, tokens.width())], "r"), RDom([(0, tokens.width())], "s")
    mean[t] = spaces.sum(tokens[r, t], "total") / count
    deviation[i, t] = tokens[i, t] - mean[t]
    variance[t] = spaces.sum(deviation[s, t] * deviation[s, t], "squares") / count
    normal = deviation[i, t] / sqrt(variance[t] + EPSILON)
    output[i, t] = normal * scale[i] + shift[i]
    size = [FEATURES, TOKENS]
    return spaces.pipeline(
        output,
        name="layer_norm",
        estimates={tokens: size, scale: size[:1], shift: size[:1], output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same by the mean and the variance of whole rows."""
    tokens = inputs["tokens"].astype(np.float64)
    mean, variance = tokens.mean(1, keepdims=True), tokens.var(1, keepdims=True)
    normal = (tokens - mean) / np.sqrt(variance + EPSILON)
    found: Array = normal * inputs["scale"] + inputs["shift"]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="layer_norm",
    kind=PipelineKind.NORMALISATION,
    summary="layer norm of 2048 tokens of 768 features, float32",
    pipeline=pipeline,
    expected=expected,
    small={"tokens": (37, 23), "scale": (37,), "shift": (37,), "output": (37, 23)},
)
