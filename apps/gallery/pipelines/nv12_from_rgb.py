"""RGB as a video encoder takes it: lines of luma, then lines of halved chroma pairs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, i32, mux, u8, undef
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1080
LUMA, BLUE, RED = (66, 129, 25), (-38, -74, 112), (112, -94, -18)
"""Weights of red, green and blue in 1/256 (ITU-R BT.601, studio range)."""


def pipeline() -> Pipeline:
    """Chroma from the mean of four pixels. The output has the height of the picture and a half."""
    x, y, c = Var("x"), Var("y"), Var("c")
    rgb = ImageParam(UInt8, 3, "rgb")
    mean, luma, chroma, output = map(Func, ("mean", "luma", "chroma", "output"))
    red, green, blue = (i32(rgb[i, x, y]) for i in range(3))
    light = LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue
    luma[x, y] = u8(((light + 128) >> 8) + 16)
    corners = [i32(rgb[c, 2 * x + i, 2 * y + j]) for j in range(2) for i in range(2)]
    mean[c, x, y] = (corners[0] + corners[1] + corners[2] + corners[3] + 2) / 4
    blues, reds = (
        sum(weight * mean[i, x, y] for i, weight in enumerate(weights)) for weights in (BLUE, RED)
    )
    chroma[c, x, y] = u8(((mux(c, [blues, reds]) + 128) >> 8) + 128)
    output[x, y] = undef(UInt8)
    upper = RDom([(0, rgb.extent(2))], "upper")
    lower = RDom([(0, rgb.extent(2) / 2)], "lower")
    output[x, upper] = luma[x, upper]
    output[x, rgb.extent(2) + lower] = chroma[x % 2, x / 2, lower]
    return spaces.pipeline(
        output,
        name="nv12_from_rgb",
        estimates={rgb: [3, WIDTH, HEIGHT], output: [WIDTH, HEIGHT * 3 // 2]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Products with the weights, and reshaped chroma."""
    rgb = inputs["rgb"].astype(np.int64)
    height, width, _ = rgb.shape
    luma = (rgb @ LUMA + 128 >> 8) + 16
    mean = (rgb.reshape(height // 2, 2, width // 2, 2, 3).sum((1, 3)) + 2) // 4
    chroma = (mean @ np.transpose([BLUE, RED]) + 128 >> 8) + 128
    stacked: Array = np.vstack([luma, chroma.reshape(height // 2, width)]).astype(np.uint8)
    return stacked


GALLERY_PIPELINE = GalleryPipeline(
    name="nv12_from_rgb",
    kind=PipelineKind.COLOURS,
    summary="interleaved RGB to luma and halved chroma, 1920x1080, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"rgb": (3, 38, 22), "output": (38, 33)},
)
