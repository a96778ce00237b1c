"""The variance of a picture in boxes, in integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 6000, 4000
SIDE = 7
COUNT = SIDE * SIDE


def pipeline() -> Pipeline:
    """Sums of values and of squares over 7x7 pixels, each by an update; the variance, cut off."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    box = RDom([(0, SIDE), (0, SIDE)], "box")
    total, squares, variance = Func("total"), Func("squares"), Func("variance")
    value = u32(image[x + box.x, y + box.y])
    total[x, y] = u32(0)
    total[x, y] += value
    squares[x, y] = u32(0)
    squares[x, y] += value * value
    variance[x, y] = (squares[x, y] * COUNT - total[x, y] * total[x, y]) / (COUNT * COUNT)
    around = [WIDTH + SIDE - 1, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        variance, name="local_variance", estimates={image: around, variance: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows."""
    windows = sliding_window_view(inputs["image"].astype(np.int64), (SIDE, SIDE))
    total, squares = windows.sum((2, 3)), (windows**2).sum((2, 3))
    variance: Array = ((squares * COUNT - total**2) // COUNT**2).astype(np.uint32)
    return variance


GALLERY_PIPELINE = GalleryPipeline(
    name="local_variance",
    kind=PipelineKind.FILTERED_PRODUCTS,
    summary="variance of 7x7 pixels of 24 megapixels, 8 bits to 32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (43, 29), "variance": (37, 23)},
)
