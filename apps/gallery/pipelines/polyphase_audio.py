"""Sound at another rate: 44.1 kHz from 48 kHz by a table of filters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

LENGTH, CHANNELS = 2_000_000, 2
UP, DOWN = 147, 160
TAPS = 16


def pipeline() -> Pipeline:
    """Sample i lies at i * 160 / 147 of the input; its phase chooses one of the filters."""
    i, c = Var("i"), Var("c")
    sound = ImageParam(Float32, 2, "sound")
    filters = ImageParam(Float32, 2, "filters")
    output = Func("output")
    r = RDom([(0, TAPS)], "r")
    output[i, c] = 0.0
    output[i, c] += filters[r, i * DOWN % UP] * sound[i * DOWN / UP + r, c]
    read = (LENGTH - 1) * DOWN // UP + TAPS
    return spaces.pipeline(
        output,
        name="polyphase_audio",
        estimates={
            sound: [read, CHANNELS],
            filters: [TAPS, UP],
            output: [LENGTH, CHANNELS],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Filters and windows gathered for all samples."""
    windows = sliding_window_view(inputs["sound"].astype(np.float64), TAPS, axis=1)
    at = np.arange(((windows.shape[1] - 1) * UP + UP - 1) // DOWN + 1) * DOWN
    resampled: Array = np.einsum("cit,it->ci", windows[:, at // UP], inputs["filters"][at % UP])
    return resampled


GALLERY_PIPELINE = GalleryPipeline(
    name="polyphase_audio",
    kind=PipelineKind.RESAMPLING,
    summary="two million samples from 48 to 44.1 kHz, stereo, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"sound": values_in(-1, 1)},
    # 366 is 336 * 160 // 147 and one more.
    small={"sound": (366 + TAPS - 1, 2), "filters": (TAPS, UP), "output": (337, 2)},
)
