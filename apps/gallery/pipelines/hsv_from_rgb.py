"""Hue, saturation and value of each pixel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, max, min, mux, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1440


def pipeline() -> Pipeline:
    """Hue in sixths of the circle from the channels that are largest and smallest, planes of
    float32; gray has hue and saturation 0.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    rgb = ImageParam(Float32, 3, "rgb")
    value, range_, hue, output = map(Func, ("value", "range", "hue", "output"))
    red, green, blue = (rgb[x, y, i] for i in range(3))
    value[x, y] = max(red, green, blue)
    range_[x, y] = value[x, y] - min(red, green, blue)
    some = select(range_[x, y] > 0.0, range_[x, y], 1.0)
    from_red = (green - blue) / some
    sixths = select(
        value[x, y] == red,
        select(from_red < 0.0, from_red + 6.0, from_red),
        value[x, y] == green,
        (blue - red) / some + 2.0,
        (red - green) / some + 4.0,
    )
    hue[x, y] = sixths * (1 / 6)
    saturation = range_[x, y] / max(value[x, y], 1e-6)
    output[x, y, c] = mux(c, [hue[x, y], saturation, value[x, y]])
    size = [WIDTH, HEIGHT, 3]
    return spaces.pipeline(output, name="hsv_from_rgb", estimates={rgb: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """By sorted channels: the middle one says how far the hue is from that of the largest one."""
    rgb = inputs["rgb"].astype(np.float64)
    low, middle, high = np.sort(rgb, axis=0)
    order = np.argsort(rgb, axis=0)
    apart = np.where(high > low, (middle - low) / np.where(high > low, high - low, 1), 0)
    forward = (order[1] - order[2]) % 3 == 1
    hue = (2 * order[2] + np.where(forward, apart, -apart)) % 6 / 6
    found: Array = np.stack([hue, (high - low) / np.maximum(high, 1e-6), high])
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="hsv_from_rgb",
    kind=PipelineKind.COLOURS,
    summary="RGB to hue, saturation and value, planes of float32",
    pipeline=pipeline,
    expected=expected,
    small={"rgb": (37, 23, 3), "output": (37, 23, 3)},
)
