"""Colours turned around the gray axis by hue, saturation and value."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, abs, clamp, fract, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2400, 1600
TURN = 0.25


def pipeline() -> Pipeline:
    """RGB to hue, saturation and value, the hue turned by a quarter, and back to RGB."""
    x, y, c = Var("x"), Var("y"), Var("c")
    rgb = ImageParam(Float32, 3, "rgb")
    value, chroma, hue, output = Func("value"), Func("chroma"), Func("hue"), Func("output")
    r, g, b = (rgb[x, y, i] for i in range(3))
    value[x, y] = spaces.max(r, g, b)
    chroma[x, y] = value[x, y] - spaces.min(r, g, b)
    per = 1.0 / (6.0 * spaces.max(chroma[x, y], 1e-6))
    of_green = (b - r) * per + 1 / 3
    of_blue = (r - g) * per + 2 / 3
    top = value[x, y]
    hue[x, y] = select(top == r, (g - b) * per + 1.0, select(top == g, of_green, of_blue))
    third = select(c == 0, 1.0, select(c == 1, 2 / 3, 1 / 3))
    wheel = abs(fract(hue[x, y] + TURN + third) * 6.0 - 3.0) - 1.0
    output[x, y, c] = value[x, y] - chroma[x, y] * (1.0 - clamp(wheel, 0.0, 1.0))
    size = [WIDTH, HEIGHT, 3]
    return spaces.pipeline(output, name="hue_turned", estimates={rgb: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """Python's conversions, pixel by pixel."""
    planes = inputs["rgb"].astype(np.float64)
    found = np.empty_like(planes)
    for y, x in np.ndindex(*planes.shape[1:]):
        hue, saturation, value = colorsys.rgb_to_hsv(*planes[:, y, x])
        found[:, y, x] = colorsys.hsv_to_rgb((hue + TURN) % 1.0, saturation, value)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="hue_turned",
    kind=PipelineKind.COLOURS,
    summary="hue turned by a quarter, RGB, float32",
    pipeline=pipeline,
    expected=expected,
    small={"rgb": (37, 23, 3), "output": (37, 23, 3)},
    tolerance=1e-5,
)
