"""Differences of Gaussians: edges at three scales."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var, f32, u8_sat
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 3000, 2000
TAPS = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
BANDS = 3


def pipeline() -> Pipeline:
    """Four Gaussians in a row, each in two passes; the largest of the differences of neighbours."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "image")
    level = Func("level_0")
    level[x, y] = f32(image[x, y])
    bands = []
    for n in range(1, BANDS + 1):
        across, smooth, band = Func(f"across_{n}"), Func(f"level_{n}"), Func(f"band_{n}")
        across[x, y] = reduce(add, (level[x + d, y] * float(t) for d, t in enumerate(TAPS)))
        smooth[x, y] = reduce(add, (across[x, y + d] * float(t) for d, t in enumerate(TAPS)))
        band[x, y] = spaces.abs(level[x + 2, y + 2] - smooth[x, y])
        reach = 2 * (BANDS - n)
        bands.append(band[x + reach, y + reach])
        level = smooth
    output = Func("output")
    output[x, y] = u8_sat(spaces.max(*bands) * (1 / 64))
    around = [WIDTH + 4 * BANDS, HEIGHT + 4 * BANDS]
    return spaces.pipeline(
        output, name="edge_bands", estimates={image: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows, in float32 as the last step cuts off."""
    level, bands = inputs["image"].astype(np.float32), []
    taps = TAPS.astype(np.float32)
    for n in range(1, BANDS + 1):
        across = sum(level[:, d : level.shape[1] - 4 + d] * taps[d] for d in range(5))
        smooth = sum(across[d : across.shape[0] - 4 + d] * taps[d] for d in range(5))
        cut = 2 * (BANDS - n)
        band = np.abs(level[2:-2, 2:-2] - smooth)
        bands.append(band[cut : band.shape[0] - cut, cut : band.shape[1] - cut])
        level = smooth
    found: Array = np.clip(np.max(bands, axis=0) * np.float32(1 / 64), 0, 255).astype(np.uint8)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="edge_bands",
    kind=PipelineKind.FILTERS,
    summary="largest difference of Gaussians of three scales, 16 bits to 8",
    pipeline=pipeline,
    expected=expected,
    small={"image": (49, 35), "output": (37, 23)},
)
