"""The median of five frames in a row: flicker and specks vanish from a film."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, FRAMES = 1280, 720, 32


def pipeline() -> Pipeline:
    """Ten minima and maxima for each pixel of each frame."""
    x, y, t = Var("x"), Var("y"), Var("t")
    film = ImageParam(UInt16, 3, "film")
    output = Func("output")
    a, b, c, d, e = (film[x, y, t + k] for k in range(5))
    low = spaces.max(spaces.min(a, b), spaces.min(c, d))
    high = spaces.min(spaces.max(a, b), spaces.max(c, d))
    output[x, y, t] = spaces.max(spaces.min(low, high), spaces.min(spaces.max(low, high), e))
    return spaces.pipeline(
        output,
        name="temporal_median",
        estimates={film: [WIDTH, HEIGHT, FRAMES + 4], output: [WIDTH, HEIGHT, FRAMES]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The medians of five frames."""
    frames = sliding_window_view(inputs["film"], 5, axis=0)
    medians: Array = np.median(frames, axis=3)
    return medians.astype(np.uint16)


GALLERY_PIPELINE = GalleryPipeline(
    name="temporal_median",
    kind=PipelineKind.SORTING,
    summary="median of five frames in a row, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"film": (37, 23, 11), "output": (37, 23, 7)},
)
