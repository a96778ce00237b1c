"""A frame of video to RGB: a plane of luma and two planes of half the resolution."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, i32, mux, u8_sat
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 3840, 2160


def pipeline() -> Pipeline:
    """Each chroma value serves four pixels. Weights are in 1/256 (ITU-R BT.601, studio range)."""
    x, y, c = Var("x"), Var("y"), Var("c")
    luma, blues, reds = (ImageParam(UInt8, 2, name) for name in ("luma", "blues", "reds"))
    output = Func("output")
    light = 298 * (i32(luma[x, y]) - 16) + 128
    blue, red = i32(blues[x / 2, y / 2]) - 128, i32(reds[x / 2, y / 2]) - 128
    sums = (light + 409 * red, light - 100 * blue - 208 * red, light + 516 * blue)
    output[c, x, y] = u8_sat(mux(c, sums) >> 8)
    half = [WIDTH // 2, HEIGHT // 2]
    return spaces.pipeline(
        output,
        name="rgb_from_yuv420",
        estimates={luma: [WIDTH, HEIGHT], blues: half, reds: half, output: [3, WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Repeated chroma and one product with a matrix."""
    luma = inputs["luma"].astype(np.int64)
    height, width = luma.shape
    chroma = [
        inputs[name].astype(np.int64).repeat(2, 0).repeat(2, 1)[:height, :width]
        for name in ("blues", "reds")
    ]
    parts = np.stack([luma - 16, chroma[0] - 128, chroma[1] - 128], axis=-1)
    weights = np.array([[298, 298, 298], [0, -100, 516], [409, -208, 0]])
    cut: Array = np.clip((parts @ weights + 128) // 256, 0, 255).astype(np.uint8)
    return cut


GALLERY_PIPELINE = GalleryPipeline(
    name="rgb_from_yuv420",
    kind=PipelineKind.COLOURS,
    summary="luma and halved chroma to interleaved RGB, 3840x2160, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"luma": (37, 23), "blues": (19, 12), "reds": (19, 12), "output": (3, 37, 23)},
)
