"""A landscape that scrolls: each row of packed pixels is moved by an amount of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int32, Pipeline, UInt32, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2560, 1440


def pipeline() -> Pipeline:
    """The row wraps around; a pixel is 32 bits."""
    x, y = Var("x"), Var("y")
    picture, shift = ImageParam(UInt32, 2, "picture"), ImageParam(Int32, 1, "shift")
    output = Func("output")
    output[x, y] = picture[(x + shift[y]) % picture.width(), y]
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(
        output,
        name="parallax_rows",
        estimates={picture: size, shift: [HEIGHT], output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Each row rolled."""
    rows = zip(inputs["picture"], inputs["shift"], strict=True)
    return np.stack([np.roll(row, -by) for row, by in rows])


GALLERY_PIPELINE = GalleryPipeline(
    name="parallax_rows",
    kind=PipelineKind.WARPS,
    summary="rows of packed pixels, each moved by its own amount, 32 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={"shift": values_in(-5000, 5000)},
    small={"picture": (37, 23), "shift": (23,), "output": (37, 23)},
)
