"""A picture smoothed by how alike the pixels of another one are, in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, UInt16, Var, absd, i32, u8, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1280, 720
SIDE = 5
BINOMIAL = [comb(SIDE - 1, k) for k in range(SIDE)]


def pipeline() -> Pipeline:
    """Weights of 5x5 pixels: binomial ones by place, times those of a table by the difference of
    the guide; their weighted mean, rounded.
    """
    x, y = Var("x"), Var("y")
    image, guide = ImageParam(UInt8, 2, "image"), ImageParam(UInt8, 2, "guide")
    closeness, places = ImageParam(UInt16, 1, "closeness"), ImageParam(UInt16, 2, "places")
    weights, values, output = Func("weights"), Func("values"), Func("output")
    half = SIDE // 2
    r = RDom([(0, SIDE), (0, SIDE)], "r")
    s = RDom([(0, SIDE), (0, SIDE)], "s")

    def weight(of: RDom) -> spaces.Expr:
        apart = absd(guide[x + of.x, y + of.y], guide[x + half, y + half])
        return u32(closeness[i32(apart)]) * u32(places[of.x, of.y])

    weights[x, y] = u32(0)
    weights[x, y] += weight(r)
    values[x, y] = weights[x, y] / 2
    values[x, y] += weight(s) * u32(image[x + s.x, y + s.y])
    output[x, y] = u8(values[x, y] / weights[x, y])
    around = [WIDTH + SIDE - 1, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        output,
        name="joint_bilateral_8",
        estimates={
            image: around,
            guide: around,
            closeness: [256],
            places: [SIDE, SIDE],
            output: [WIDTH, HEIGHT],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows."""
    image, guide = (
        sliding_window_view(inputs[name].astype(np.int64), (SIDE, SIDE))
        for name in ("image", "guide")
    )
    centre = guide[:, :, SIDE // 2, SIDE // 2, None, None]
    weight = inputs["closeness"].astype(np.int64)[np.abs(guide - centre)] * inputs["places"]
    total = weight.sum((2, 3))
    found: Array = (((weight * image).sum((2, 3)) + total // 2) // total).astype(np.uint8)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="joint_bilateral_8",
    kind=PipelineKind.BILATERAL,
    summary="joint bilateral filter of 5x5 by a table of weights, 8 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={
        "closeness": values_in(1, 1000),
        "places": lambda _dice, type, _shape: np.outer(BINOMIAL, BINOMIAL).astype(type.dtype),
    },
    small={
        "image": (41, 27),
        "guide": (41, 27),
        "closeness": (256,),
        "places": (SIDE, SIDE),
        "output": (37, 23),
    },
)
