"""A scanned volume smoothed along its three axes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, Var, f32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIDE, DEPTH = 256, 96
GAUSSIAN = np.exp(np.arange(-3, 4) ** 2 / -4.5)
WEIGHTS = GAUSSIAN / GAUSSIAN.sum()


def pipeline() -> Pipeline:
    """Seven taps along each axis, with a deviation of 1.5."""
    x, y, z = Var("x"), Var("y"), Var("z")
    volume = ImageParam(Int16, 3, "volume")
    deep, down, output = Func("deep"), Func("down"), Func("output")
    taps = [(d, float(weight)) for d, weight in enumerate(WEIGHTS)]
    deep[x, y, z] = reduce(add, (f32(volume[x, y, z + d]) * weight for d, weight in taps))
    down[x, y, z] = reduce(add, (deep[x, y + d, z] * weight for d, weight in taps))
    output[x, y, z] = reduce(add, (down[x + d, y, z] * weight for d, weight in taps))
    return spaces.pipeline(
        output,
        name="blur_volume",
        estimates={volume: [SIDE + 6, SIDE + 6, DEPTH + 6], output: [SIDE, SIDE, DEPTH]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's convolution of lines."""
    found: Array = inputs["volume"].astype(np.float64)
    for axis in range(3):
        found = np.apply_along_axis(np.convolve, axis, found, WEIGHTS, "valid")
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="blur_volume",
    kind=PipelineKind.FILTERS,
    summary="Gaussian of 7x7x7 in three passes, 256x256x96, 16 bits to float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"volume": values_in(-1000, 3000)},
    small={"volume": (43, 29, 17), "output": (37, 23, 11)},
)
