"""Colours through a fine cube of colours, by its nearest entry."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var, i32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4096, 2160
SIDE = 33
STEP = 65536 // (SIDE - 1)


def pipeline() -> Pipeline:
    """Planes of 16 bits; an entry stands for 2048 values around it."""
    x, y, c = Var("x"), Var("y"), Var("c")
    image, cube = ImageParam(UInt16, 3, "image"), ImageParam(UInt16, 4, "cube")
    output = Func("output")
    red, green, blue = ((i32(image[x, y, i]) + STEP // 2) / STEP for i in range(3))
    output[x, y, c] = cube[red, green, blue, c]
    size = [WIDTH, HEIGHT, 3]
    return spaces.pipeline(
        output,
        name="nearest_colour_cube",
        estimates={image: size, cube: [SIDE, SIDE, SIDE, 3], output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Places as rounded quotients, halves up."""
    red, green, blue = np.floor(inputs["image"] / STEP + 0.5).astype(np.int64)
    found: Array = inputs["cube"][:, blue, green, red]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="nearest_colour_cube",
    kind=PipelineKind.LOOKUPS,
    summary="a cube of 33x33x33 colours, nearest entry, 9 megapixels, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23, 3), "cube": (SIDE, SIDE, SIDE, 3), "output": (37, 23, 3)},
)
