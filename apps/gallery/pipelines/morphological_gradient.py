"""A morphological gradient: how much the values around a pixel differ."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, IMAGES = 512, 512, 16


def pipeline() -> Pipeline:
    """The largest less the smallest value of 3x3 pixels, for a batch of images."""
    x, y, n = Var("x"), Var("y"), Var("n")
    images = ImageParam(UInt8, 3, "images")
    most, least, output = Func("most"), Func("least"), Func("output")
    most[x, y, n] = spaces.max(*(images[x + d, y, n] for d in range(3)))
    least[x, y, n] = spaces.min(*(images[x + d, y, n] for d in range(3)))
    highest = spaces.max(*(most[x, y + d, n] for d in range(3)))
    lowest = spaces.min(*(least[x, y + d, n] for d in range(3)))
    output[x, y, n] = highest - lowest
    return spaces.pipeline(
        output,
        name="morphological_gradient",
        estimates={
            images: [WIDTH + 2, HEIGHT + 2, IMAGES],
            output: [WIDTH, HEIGHT, IMAGES],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The range of each window."""
    windows = sliding_window_view(inputs["images"], (3, 3), axis=(1, 2))
    ranges: Array = np.ptp(windows, axis=(3, 4))
    return ranges


GALLERY_PIPELINE = GalleryPipeline(
    name="morphological_gradient",
    kind=PipelineKind.MORPHOLOGY,
    summary="maximum less minimum of 3x3 pixels, 16 images, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"images": (39, 25, 3), "output": (37, 23, 3)},
)
