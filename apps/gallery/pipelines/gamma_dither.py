"""Linear values of 12 bits as four gray values, by an ordered dither."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, UInt16, Var, cast, f32, mux, pow
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 3072, 2048
MATRIX = (0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5)
"""Bayer's thresholds of 4x4 pixels, in sixteenths."""


def pipeline() -> Pipeline:
    """The gamma curve by a power, plus the threshold of the pixel, cut to four levels."""
    x, y = Var("x"), Var("y")
    linear = ImageParam(UInt16, 2, "linear")
    threshold, output = Func("threshold"), Func("output")
    threshold[x, y] = (mux(y % 4 * 4 + x % 4, [float(t) for t in MATRIX]) + 0.5) / 16.0
    curved = pow(f32(linear[x, y]) / 4095.0, 1 / 2.2)
    output[x, y] = cast(UInt8, curved * 3.0 + threshold[x, y]) * 85
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="gamma_dither", estimates={linear: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with a tiled matrix."""
    linear = inputs["linear"].astype(np.float64)
    height, width = linear.shape
    tiled = np.tile(np.reshape(MATRIX, (4, 4)), (height // 4 + 1, width // 4 + 1))
    curved = (linear / 4095) ** (1 / 2.2)
    levels = np.floor(3 * curved + (tiled[:height, :width] + 0.5) / 16)
    return (levels * 85).astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="gamma_dither",
    kind=PipelineKind.POINTWISE,
    summary="gamma curve and ordered dither to four levels, 16 bits to 8",
    pipeline=pipeline,
    expected=expected,
    inputs={"linear": values_in(0, 4095)},
    small={"linear": (37, 23), "output": (37, 23)},
)
