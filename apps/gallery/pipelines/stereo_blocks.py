"""Disparities of a stereo pair by blocks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, absd, argmin, u8, u16
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 640, 480
DISPARITIES, SIDE = 32, 7


def pipeline() -> Pipeline:
    """For each of 32 shifts the differences of pixels and their sums over 7x7; the first shift of
    the least sum.
    """
    x, y, d = Var("x"), Var("y"), Var("d")
    left, right = ImageParam(UInt8, 2, "left"), ImageParam(UInt8, 2, "right")
    apart, across, block, output = Func("apart"), Func("across"), Func("block"), Func("output")
    apart[x, y, d] = u16(absd(left[x + DISPARITIES - 1, y], right[x + DISPARITIES - 1 - d, y]))
    across[x, y, d] = reduce(add, (apart[x + i, y, d] for i in range(SIDE)))
    block[x, y, d] = reduce(add, (across[x, y + i, d] for i in range(SIDE)))
    r = RDom([(0, DISPARITIES)], "r")
    output[x, y] = u8(argmin(block[x, y, r])[0])
    around = [WIDTH + DISPARITIES + SIDE - 2, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        output,
        name="stereo_blocks",
        estimates={left: around, right: around, output: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows."""
    left, right = (inputs[name].astype(np.int64) for name in ("left", "right"))
    width = left.shape[1] - DISPARITIES + 1
    sums = []
    for d in range(DISPARITIES):
        start = DISPARITIES - 1
        apart = np.abs(left[:, start:] - right[:, start - d :][:, :width])
        sums.append(sliding_window_view(apart, (SIDE, SIDE)).sum((2, 3)))
    found: Array = np.argmin(sums, axis=0).astype(np.uint8)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="stereo_blocks",
    kind=PipelineKind.MATCHING,
    summary="disparity of blocks of 7x7 among 32 shifts, 640x480, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"left": (74, 29), "right": (74, 29), "output": (37, 23)},
)
