"""The mean of 3x3 values without the least and the largest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, Var, i16, i32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1500, 1000


def pipeline() -> Pipeline:
    """The sum, the minimum and the maximum of a window, each along lines first."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Int16, 2, "image")
    lines, output = Func("lines"), Func("output")
    across = [image[x + d, y] for d in range(3)]
    lines[x, y] = (
        reduce(add, (i32(one) for one in across)),
        spaces.min(*across),
        spaces.max(*across),
    )
    total, least, most = zip(*(lines[x, y + d] for d in range(3)), strict=True)
    trimmed = reduce(add, total) - spaces.min(*least) - spaces.max(*most)
    output[x, y] = i16(trimmed / 7)
    return spaces.pipeline(
        output,
        name="alpha_trimmed_mean",
        estimates={image: [WIDTH + 2, HEIGHT + 2], output: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The sums of the middle seven of nine sorted values, divided and rounded down."""
    windows = sliding_window_view(inputs["image"].astype(np.int64), (3, 3))
    ordered = np.sort(windows.reshape(*windows.shape[:2], 9), axis=2)
    sums: Array = ordered[..., 1:-1].sum(2)
    return (sums // 7).astype(np.int16)


GALLERY_PIPELINE = GalleryPipeline(
    name="alpha_trimmed_mean",
    kind=PipelineKind.SORTING,
    summary="mean of 3x3 values without their extremes, int16",
    pipeline=pipeline,
    expected=expected,
    small={"image": (39, 25), "output": (37, 23)},
)
