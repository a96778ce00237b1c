"""Sound in a room by its two fields: pressure, and the velocity between points."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1500, 1500
STEPS = 6
SPEED = 0.5


def pipeline() -> Pipeline:
    """Each step moves the velocities, a Tuple, by differences of pressure, then the pressure by
    differences of velocities. The air rests at first; around the output are further points.
    """
    x, y = Var("x"), Var("y")
    room = ImageParam(Float32, 2, "room")
    pressure, velocity = Func("pressure_0"), Func("velocity_0")
    pressure[x, y] = room[x + STEPS, y + STEPS]
    velocity[x, y] = (0.0, 0.0)
    for n in range(1, STEPS + 1):
        p, v = pressure, velocity
        velocity, pressure = Func(f"velocity_{n}"), Func(f"pressure_{n}" if n < STEPS else "output")
        velocity[x, y] = (
            v[x, y][0] - SPEED * (p[x + 1, y] - p[x, y]),
            v[x, y][1] - SPEED * (p[x, y + 1] - p[x, y]),
        )
        across = velocity[x, y][0] - velocity[x - 1, y][0]
        down = velocity[x, y][1] - velocity[x, y - 1][1]
        pressure[x, y] = p[x, y] - SPEED * (across + down)
    return spaces.pipeline(
        pressure,
        name="sound_waves",
        estimates={
            room: [WIDTH + 2 * STEPS, HEIGHT + 2 * STEPS],
            pressure: [WIDTH, HEIGHT],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The wave equation of the pressure alone, whose second difference in time is that in space."""
    before = now = inputs["room"].astype(np.float64)
    for _ in range(STEPS):
        # At edges it reads the other side; that reaches one point further each step.
        around = sum(np.roll(now, by, axis) for axis in (0, 1) for by in (1, -1))
        before, now = now, 2 * now - before + SPEED**2 * (around - 4 * now)
    return now[STEPS:-STEPS, STEPS:-STEPS]


GALLERY_PIPELINE = GalleryPipeline(
    name="sound_waves",
    kind=PipelineKind.TIME_STENCILS,
    summary="six steps of pressure and velocities in a plane, float32",
    pipeline=pipeline,
    expected=expected,
    small={"room": (49, 35), "output": (37, 23)},
)
