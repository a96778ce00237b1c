"""Heat in a plate over eight steps of time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2048, 2048
STEPS = 8
SPEED = 0.2


def pipeline() -> Pipeline:
    """In each step a point moves toward its four neighbours; the input is 8 points wider on each
    side.
    """
    x, y = Var("x"), Var("y")
    plate = ImageParam(Float32, 2, "plate")
    heat = Func("heat_0")
    heat[x, y] = plate[x + STEPS, y + STEPS]
    for n in range(1, STEPS + 1):
        before, heat = heat, Func(f"heat_{n}" if n < STEPS else "output")
        around = before[x - 1, y] + before[x + 1, y] + before[x, y - 1] + before[x, y + 1]
        heat[x, y] = before[x, y] + SPEED * (around - 4.0 * before[x, y])
    return spaces.pipeline(
        heat,
        name="heat_2d",
        estimates={
            plate: [WIDTH + 2 * STEPS, HEIGHT + 2 * STEPS],
            heat: [WIDTH, HEIGHT],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with slices that shrink."""
    heat: Array = inputs["plate"].astype(np.float64)
    for _ in range(STEPS):
        around = heat[1:-1, :-2] + heat[1:-1, 2:] + heat[:-2, 1:-1] + heat[2:, 1:-1]
        heat = (1 - 4 * SPEED) * heat[1:-1, 1:-1] + SPEED * around
    return heat


GALLERY_PIPELINE = GalleryPipeline(
    name="heat_2d",
    kind=PipelineKind.TIME_STENCILS,
    summary="eight steps of heat in a plate, five points, float32",
    pipeline=pipeline,
    expected=expected,
    small={"plate": (53, 39), "output": (37, 23)},
)
