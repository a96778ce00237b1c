"""A filter of 63 taps over a long signal of 16 bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, RDom, Var, i16_sat, i32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SAMPLES, TAPS = 10_000_000, 63


def pipeline() -> Pipeline:
    """Sums in 32 bits of 63 samples times weights in 1/32768, rounded and cut to 16 bits."""
    t = Var("t")
    signal, weights = ImageParam(Int16, 1, "signal"), ImageParam(Int16, 1, "weights")
    total, output = Func("total"), Func("output")
    r = RDom([(0, TAPS)], "r")
    total[t] = 1 << 14
    total[t] += i32(signal[t + r]) * i32(weights[r])
    output[t] = i16_sat(total[t] >> 15)
    return spaces.pipeline(
        output,
        name="fir_signal",
        estimates={signal: [SAMPLES + TAPS - 1], weights: [TAPS], output: [SAMPLES]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's correlation."""
    signal, weights = (inputs[name].astype(np.int64) for name in ("signal", "weights"))
    total = np.correlate(signal, weights, "valid") + (1 << 14)
    found: Array = np.clip(total >> 15, -(1 << 15), (1 << 15) - 1).astype(np.int16)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="fir_signal",
    kind=PipelineKind.FILTERS,
    summary="filter of 63 taps over ten million samples, 16 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={"weights": values_in(-900, 1000)},
    small={"signal": (199,), "weights": (TAPS,), "output": (137,)},
)
