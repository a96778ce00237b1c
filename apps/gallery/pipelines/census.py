"""A code of each neighbourhood, and how many bits of two codes differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, UInt64, Var, cast, popcount, select, u8, u64
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1200
SIDE, SHIFT = 7, 5


def pipeline() -> Pipeline:
    """A bit for each of 48 neighbours that is darker than the pixel; the number of bits in which
    the codes of two pictures differ, five pixels apart.
    """
    x, y = Var("x"), Var("y")
    left, right = ImageParam(UInt8, 2, "left"), ImageParam(UInt8, 2, "right")
    half = SIDE // 2

    def code_of(image: ImageParam, name: str) -> Func:
        code = Func(name)
        centre = image[x + half, y + half]
        places = [(i, j) for j in range(SIDE) for i in range(SIDE) if (i, j) != (half, half)]
        bits = (
            select(image[x + i, y + j] < centre, u64(1 << n), u64(0))
            for n, (i, j) in enumerate(places)
        )
        code[x, y] = reduce(add, bits)
        return code

    output = Func("output")
    codes = code_of(left, "left_code")[x + SHIFT, y] ^ code_of(right, "right_code")[x, y]
    output[x, y] = u8(popcount(cast(UInt64, codes)))
    around = [WIDTH + SIDE - 1 + SHIFT, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        output, name="census", estimates={left: around, right: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The number of neighbours whose comparisons differ."""
    darker = []
    for name in ("left", "right"):
        windows = sliding_window_view(inputs[name], (SIDE, SIDE))
        darker.append(windows < windows[:, :, SIDE // 2, SIDE // 2, None, None])
    left, right = darker
    found: Array = (left[:, SHIFT:] != right[:, :-SHIFT]).sum((2, 3)).astype(np.uint8)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="census",
    kind=PipelineKind.MATCHING,
    summary="differing bits of census codes of 7x7 pixels, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"left": (48, 29), "right": (48, 29), "output": (37, 23)},
)
