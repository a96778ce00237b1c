"""A dilated convolution of a signal, as networks for sound have them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SAMPLES, CHANNELS = 44_100, 24
TAPS = 3
DILATIONS = (1, 2, 4)


def pipeline() -> Pipeline:
    """Three layers of 24 channels; a layer reads three samples that lie 1, 2 and 4 apart."""
    t, c = Var("t"), Var("c")
    signal, weights = ImageParam(Float32, 2, "signal"), ImageParam(Float32, 4, "weights")
    layer: Func | ImageParam = signal
    for n, apart in enumerate(DILATIONS):
        r = RDom([(0, TAPS), (0, CHANNELS)], f"r_{n}")
        total, rectified = Func(f"total_{n}"), Func(f"rectified_{n}")
        total[t, c] = 0.0
        total[t, c] += weights[r.x, r.y, c, n] * layer[t + apart * r.x, r.y]
        rectified[t, c] = spaces.max(total[t, c], 0.0)
        layer = rectified
    assert isinstance(layer, Func)
    before = sum(DILATIONS) * (TAPS - 1)
    return spaces.pipeline(
        layer,
        name="dilated_signal",
        estimates={
            signal: [SAMPLES + before, CHANNELS],
            weights: [TAPS, CHANNELS, CHANNELS, len(DILATIONS)],
            layer: [SAMPLES, CHANNELS],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The sum over taps of products of matrices."""
    layer, weights = (inputs[name].astype(np.float64) for name in ("signal", "weights"))
    for n, apart in enumerate(DILATIONS):
        length = layer.shape[1] - apart * (TAPS - 1)
        taps = [weights[n, :, :, i] @ layer[:, apart * i :][:, :length] for i in range(TAPS)]
        layer = np.maximum(sum(taps), 0.0)
    return layer


GALLERY_PIPELINE = GalleryPipeline(
    name="dilated_signal",
    kind=PipelineKind.CONVOLUTIONS,
    summary="three dilated convolutions of a second of sound, 24 channels, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"weights": around_zero(0.2)},
    small={
        "signal": (37 + 14, CHANNELS),
        "weights": (TAPS, CHANNELS, CHANNELS, len(DILATIONS)),
        "rectified_2": (37, CHANNELS),
    },
    tolerance=4e-6,
)
