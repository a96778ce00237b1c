"""Local contrast normalisation: each pixel against the mean and deviation around it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, boundary, f32, sqrt, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1280, 960
SIDE = 9
FLOOR = 4.0
"""Added to deviations, so that flat regions stay gray."""


def pipeline() -> Pipeline:
    """Sums and sums of squares over boxes of 9x9, in integers; then floats. Outside, the image is
    mirrored about its edge pixels.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    edges = boundary.mirror_interior(image)
    around = range(-(SIDE // 2), SIDE // 2 + 1)

    def total(of: Func, name: str) -> Func:
        across, down = Func(f"{name}_across"), Func(name)
        across[x, y] = reduce(add, (of[x + d, y] for d in around))
        down[x, y] = reduce(add, (across[x, y + d] for d in around))
        return down

    value, square = Func("value"), Func("square")
    value[x, y] = u32(edges[x, y])
    square[x, y] = value[x, y] * value[x, y]
    values, squares = total(value, "values"), total(square, "squares")
    mean, deviation, output = Func("mean"), Func("deviation"), Func("output")
    count = SIDE * SIDE
    mean[x, y] = f32(values[x, y]) / float(count)
    spread = squares[x, y] * count - values[x, y] * values[x, y]
    deviation[x, y] = sqrt(f32(spread)) / float(count)
    output[x, y] = (f32(image[x, y]) - mean[x, y]) / (deviation[x, y] + FLOOR)
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="local_contrast", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same by the mean and deviation of whole windows."""
    image = inputs["image"].astype(np.float64)
    windows = sliding_window_view(np.pad(image, SIDE // 2, mode="reflect"), (SIDE, SIDE))
    normal: Array = (image - windows.mean((2, 3))) / (windows.std((2, 3)) + FLOOR)
    return normal


GALLERY_PIPELINE = GalleryPipeline(
    name="local_contrast",
    kind=PipelineKind.NORMALISATION,
    summary="deviation from the mean of 9x9 pixels over theirs, 8 bits to float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
