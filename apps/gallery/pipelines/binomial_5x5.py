"""Binomial weights of 5x5 in one pass of integers."""

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

WIDTH, HEIGHT = 7680, 4320
TAPS = (1, 4, 6, 4, 1)


def pipeline() -> Pipeline:
    """25 weighted pixels, rounded; outside, the picture is mirrored."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    mirrored = boundary.mirror_interior(image)
    output = Func("output")
    total = reduce(
        add,
        (
            u16(mirrored[x + dx - 2, y + dy - 2]) * (a * b)
            for dy, a in enumerate(TAPS)
            for dx, b in enumerate(TAPS)
        ),
    )
    output[x, y] = u8((total + 128) / 256)
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="binomial_5x5", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """A contraction of windows with the weights."""
    padded = np.pad(inputs["image"].astype(np.int64), 2, mode="reflect")
    total = np.einsum("yxij,i,j->yx", sliding_window_view(padded, (5, 5)), TAPS, TAPS)
    found: Array = ((total + 128) // 256).astype(np.uint8)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="binomial_5x5",
    kind=PipelineKind.FILTERS,
    summary="binomial filter of 5x5 in one pass, 33 megapixels, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
