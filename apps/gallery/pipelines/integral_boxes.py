"""Sums over large boxes by an integral image."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 3840, 2160
SIDE = 31


def pipeline() -> Pipeline:
    """Running sums of each line, running sums of those down the columns, and four corners."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    lines, integral, output = Func("lines"), Func("integral"), Func("output")
    along, down = RDom([(1, image.width() - 1)], "along"), RDom([(1, image.height() - 1)], "down")
    lines[x, y] = u32(image[x, y])
    lines[along, y] = lines[along, y] + lines[along - 1, y]
    integral[x, y] = lines[x, y]
    integral[x, down] = integral[x, down] + integral[x, down - 1]
    right, below = x + SIDE, y + SIDE
    output[x, y] = integral[right, below] - integral[x, below] - integral[right, y] + integral[x, y]
    around = [WIDTH + SIDE, HEIGHT + SIDE]
    return spaces.pipeline(
        output, name="integral_boxes", estimates={image: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The sum of each window of the image less its first line and column."""
    inner = inputs["image"][1:, 1:].astype(np.uint32)
    sums: Array = sliding_window_view(inner, (SIDE, SIDE)).sum((2, 3), dtype=np.uint32)
    return sums


GALLERY_PIPELINE = GalleryPipeline(
    name="integral_boxes",
    kind=PipelineKind.SCANS,
    summary="sums over boxes of 31x31 by an integral image, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (68, 54), "output": (37, 23)},
)
