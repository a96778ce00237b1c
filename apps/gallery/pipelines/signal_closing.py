"""A closing of a long signal: gaps shorter than 32 samples are filled."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

LENGTH = 4_000_000
STEPS = (1, 2, 4, 8, 16)
WINDOW = 32


def pipeline() -> Pipeline:
    """Maxima of 2, 4, 8, 16 and 32 samples, each from the one before, then minima likewise."""
    i = Var("i")
    signal = ImageParam(Int16, 1, "signal")
    previous = Func("most_1")
    previous[i] = signal[i]
    for step in STEPS:
        wider = Func(f"most_{2 * step}")
        wider[i] = spaces.max(previous[i], previous[i + step])
        previous = wider
    for step in STEPS:
        wider = Func(f"least_{2 * step}" if 2 * step < WINDOW else "output")
        wider[i] = spaces.min(previous[i], previous[i + step])
        previous = wider
    return spaces.pipeline(
        previous,
        name="signal_closing",
        estimates={signal: [LENGTH + 2 * WINDOW - 2], previous: [LENGTH]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Maxima of windows, then minima of windows."""
    most = sliding_window_view(inputs["signal"], WINDOW).max(1)
    closed: Array = sliding_window_view(most, WINDOW).min(1)
    return closed


GALLERY_PIPELINE = GalleryPipeline(
    name="signal_closing",
    kind=PipelineKind.MORPHOLOGY,
    summary="closing of 4 million samples by 32, by doubling, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"signal": (399,), "output": (337,)},
)
