"""The median of 3x3 pixels by a network of exchanges that shares sorted columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Expr, Func, ImageParam, Pipeline, UInt8, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4000, 3000


def _middle(a: Expr, b: Expr, c: Expr) -> Expr:
    """The median of three values."""
    return spaces.max(spaces.min(a, b), spaces.min(spaces.max(a, b), c))


def pipeline() -> Pipeline:
    """Sorts each column of three; the median is that of the largest least, the median middle and
    the smallest largest value of three columns.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    column, output = Func("column"), Func("output")
    a, b, c = (image[x, y + d] for d in range(3))
    column[x, y] = (spaces.min(a, b, c), _middle(a, b, c), spaces.max(a, b, c))
    least, middle, most = ([column[x + d, y][k] for d in range(3)] for k in range(3))
    output[x, y] = _middle(spaces.max(*least), _middle(*middle), spaces.min(*most))
    return spaces.pipeline(
        output,
        name="median_3x3",
        estimates={image: [WIDTH + 2, HEIGHT + 2], output: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The medians of windows."""
    windows = sliding_window_view(inputs["image"], (3, 3))
    medians: Array = np.median(windows, axis=(2, 3))
    return medians.astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="median_3x3",
    kind=PipelineKind.SORTING,
    summary="median of 3x3 pixels by sorted columns, 12 megapixels, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (39, 25), "output": (37, 23)},
)
