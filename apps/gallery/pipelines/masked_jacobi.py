"""Holes of a picture filled smoothly: Jacobi's iteration where a mask says so."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, UInt8, Var, boundary, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1024, 1024
STEPS = 10


def pipeline() -> Pipeline:
    """Ten times, masked pixels become the mean of their neighbours, others stay. Outside, picture
    and mask repeat their edge pixels.
    """
    x, y = Var("x"), Var("y")
    picture, holes = ImageParam(Float32, 2, "picture"), ImageParam(UInt8, 2, "holes")
    filled, mask = boundary.repeat_edge(picture), boundary.repeat_edge(holes)
    for n in range(1, STEPS + 1):
        before, filled = filled, Func(f"filled_{n}" if n < STEPS else "output")
        around = before[x - 1, y] + before[x + 1, y] + before[x, y - 1] + before[x, y + 1]
        filled[x, y] = select(mask[x, y] != 0, 0.25 * around, before[x, y])
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(
        filled, name="masked_jacobi", estimates={picture: size, holes: size, filled: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same on a wider picture."""
    filled = np.pad(inputs["picture"].astype(np.float64), STEPS, mode="edge")
    mask = np.pad(inputs["holes"], STEPS, mode="edge") > 0
    for _ in range(STEPS):
        # At edges it reads the other side; that reaches one pixel further each step.
        around = [np.roll(filled, by, axis) for axis in (0, 1) for by in (1, -1)]
        filled = np.where(mask, np.mean(around, 0), filled)
    inner: Array = filled[STEPS:-STEPS, STEPS:-STEPS]
    return inner


GALLERY_PIPELINE = GalleryPipeline(
    name="masked_jacobi",
    kind=PipelineKind.TIME_STENCILS,
    summary="ten steps of Jacobi's iteration in a mask, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"holes": values_in(0, 1)},
    small={"picture": (37, 23), "holes": (37, 23), "output": (37, 23)},
)
