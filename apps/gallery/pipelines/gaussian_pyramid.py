"""The third level of a Gaussian pyramid: an eighth of the resolution."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, boundary, u8, u16
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4096, 3072
LEVELS = 3
WEIGHTS = (1, 4, 6, 4, 1)


def pipeline() -> Pipeline:
    """Three times, weighted sums of five pixels along lines and columns at every second pixel,
    rounded to bytes. Outside, the picture repeats its edge pixels.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    level = boundary.repeat_edge(image)
    for n in range(1, LEVELS + 1):
        across, down = Func(f"across_{n}"), Func(f"level_{n}" if n < LEVELS else "output")
        terms = (u16(level[2 * x + d - 2, y]) * w for d, w in enumerate(WEIGHTS))
        across[x, y] = reduce(add, terms)
        sums = (u16(across[x, 2 * y + d - 2]) * w for d, w in enumerate(WEIGHTS))
        down[x, y] = u8((reduce(add, sums) + 128) >> 8)
        level = down
    return spaces.pipeline(
        level,
        name="gaussian_pyramid",
        estimates={
            image: [WIDTH, HEIGHT],
            level: [WIDTH >> LEVELS, HEIGHT >> LEVELS],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same by windows of a picture with wider edges."""
    height, width = inputs["image"].shape
    # Each level reads 2 pixels more on a side, which are 2, 4 and 8 pixels of the picture.
    level = np.pad(inputs["image"], 14, mode="edge").astype(np.int64)
    kernel = np.outer(WEIGHTS, WEIGHTS)
    for _ in range(LEVELS):
        windows = sliding_window_view(level, (5, 5))[::2, ::2]
        level = (np.tensordot(windows, kernel, 2) + 128) // 256
    return level[: height >> LEVELS, : width >> LEVELS].astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="gaussian_pyramid",
    kind=PipelineKind.PYRAMIDS,
    summary="third level of a Gaussian pyramid by 5x5 weights, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (104, 72), "output": (13, 9)},
)
