"""Histogram equalisation of a picture of 16 bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt16, Var, cast, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4096, 3072
LEVELS = 1 << 12
SHIFT = 4
"""A level holds 16 neighbouring values."""


def pipeline() -> Pipeline:
    """Counts of 4096 levels, their running sum, and the share of pixels that are not brighter."""
    x, y, v = Var("x"), Var("y"), Var("v")
    image = ImageParam(UInt16, 2, "image")
    counts, upto, output = Func("counts"), Func("upto"), Func("output")
    r = RDom([(0, image.width()), (0, image.height())], "r")
    counts[v] = u32(0)
    counts[spaces.i32(image[r.x, r.y] >> SHIFT)] += u32(1)
    level = RDom([(1, LEVELS - 1)], "level")
    upto[v] = counts[v]
    upto[level] = upto[level - 1] + upto[level]
    pixels = u32(image.width() * image.height())
    share = cast(spaces.UInt64, upto[spaces.i32(image[x, y] >> SHIFT)]) * 65535 / pixels
    output[x, y] = cast(UInt16, share)
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="equalize_16", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """A count of levels, cumulated, as a table."""
    levels = inputs["image"] >> SHIFT
    upto = np.cumsum(np.bincount(levels.ravel(), minlength=LEVELS))
    table = (upto * 65535 // levels.size).astype(np.uint16)
    found: Array = table[levels]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="equalize_16",
    kind=PipelineKind.HISTOGRAMS,
    summary="histogram equalisation by 4096 levels, 12 megapixels, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
