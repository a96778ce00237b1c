"""A large picture sharpened where it has edges."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var, abs, boundary, i32, select, u16_sat
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 6720, 4480
WEIGHTS = (1, 4, 6, 4, 1)
THRESHOLD = 500


def pipeline() -> Pipeline:
    """Adds 3/2 of the difference from a binomial blur of 5x5, if it is larger than a threshold.
    Outside, edge pixels repeat.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "image")
    bounded = boundary.repeat_edge(image)
    down, blur, output = Func("down"), Func("blur"), Func("output")
    taps = list(enumerate(WEIGHTS, -2))
    down[x, y] = reduce(add, (weight * i32(bounded[x, y + d]) for d, weight in taps))
    blur[x, y] = (reduce(add, (weight * down[x + d, y] for d, weight in taps)) + 128) >> 8
    value = i32(image[x, y])
    difference = value - blur[x, y]
    sharper = u16_sat(value + difference * 3 / 2)
    output[x, y] = select(abs(difference) > THRESHOLD, sharper, image[x, y])
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="sharpen_16", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with shifted copies."""
    value = inputs["image"].astype(np.int64)
    height, width = value.shape
    padded = np.pad(value, 2, mode="edge")
    down = np.sum([w * padded[d : d + height] for d, w in enumerate(WEIGHTS)], axis=0)
    sums = np.sum([w * down[:, d : d + width] for d, w in enumerate(WEIGHTS)], axis=0)
    difference = value - (sums + 128) // 256
    sharper = np.clip(value + difference * 3 // 2, 0, 65535)
    found: Array = np.where(np.abs(difference) > THRESHOLD, sharper, value).astype(np.uint16)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="sharpen_16",
    kind=PipelineKind.FILTERS,
    summary="unsharp mask with a threshold, 30 megapixels, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
