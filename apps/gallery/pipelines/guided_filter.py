"""A guided filter: a picture smoothed along the edges of another one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1080
SIDE = 9
EPSILON = 0.01


def pipeline() -> Pipeline:
    """The means over boxes of 9x9 of both pictures and of two products, a line fitted in each box,
    and the mean of the lines that hold a pixel.
    """
    x, y = Var("x"), Var("y")
    guide, image = ImageParam(Float32, 2, "guide"), ImageParam(Float32, 2, "image")

    def mean(of: Func | ImageParam, name: str) -> Func:
        across, down = Func(f"{name}_across"), Func(name)
        across[x, y] = reduce(add, (of[x + d, y] for d in range(SIDE)))
        down[x, y] = reduce(add, (across[x, y + d] for d in range(SIDE))) / float(SIDE * SIDE)
        return down

    square, product = Func("square"), Func("product")
    square[x, y] = guide[x, y] * guide[x, y]
    product[x, y] = guide[x, y] * image[x, y]
    guides, images = mean(guide, "guides"), mean(image, "images")
    squares, products = mean(square, "squares"), mean(product, "products")

    slope, offset = Func("slope"), Func("offset")
    variance = squares[x, y] - guides[x, y] * guides[x, y]
    slope[x, y] = (products[x, y] - guides[x, y] * images[x, y]) / (variance + EPSILON)
    offset[x, y] = images[x, y] - slope[x, y] * guides[x, y]

    half = SIDE - 1
    output = Func("output")
    slopes, offsets = mean(slope, "slopes"), mean(offset, "offsets")
    output[x, y] = slopes[x, y] * guide[x + half, y + half] + offsets[x, y]
    size, around = [WIDTH, HEIGHT], [WIDTH + 2 * half, HEIGHT + 2 * half]
    return spaces.pipeline(
        output, name="guided_filter", estimates={guide: around, image: around, output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with whole arrays."""
    guide, image = (inputs[name].astype(np.float64) for name in ("guide", "image"))

    def mean(of: Array) -> Array:
        means: Array = sliding_window_view(of, (SIDE, SIDE)).mean((2, 3))
        return means

    variance = mean(guide * guide) - mean(guide) ** 2
    slope = (mean(guide * image) - mean(guide) * mean(image)) / (variance + EPSILON)
    offset = mean(image) - slope * mean(guide)
    half = SIDE - 1
    return mean(slope) * guide[half:-half, half:-half] + mean(offset)


GALLERY_PIPELINE = GalleryPipeline(
    name="guided_filter",
    kind=PipelineKind.FILTERED_PRODUCTS,
    summary="guided filter with boxes of 9x9, float32",
    pipeline=pipeline,
    expected=expected,
    small={"guide": (53, 39), "image": (53, 39), "output": (37, 23)},
)
