"""Heat in a block whose surroundings stay cold, over four steps of time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

import spaces
from spaces import Float64, Func, ImageParam, Pipeline, Var, boundary
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIDE = 200
STEPS = 4
SPEED = 0.125


def pipeline() -> Pipeline:
    """Seven points a step; outside of the block the heat is 0."""
    x, y, z = at = Var("x"), Var("y"), Var("z")
    block = ImageParam(Float64, 3, "block")
    bounds = [(0, block.extent(d)) for d in range(3)]
    heat = boundary.constant_exterior(block, 0.0)
    for n in range(1, STEPS + 1):
        step = Func(f"heat_{n}" if n < STEPS else "output")
        neighbours = reduce(
            add,
            (
                heat[x + i * d, y + j * d, z + k * d]
                for i, j, k in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
                for d in (-1, 1)
            ),
        )
        step[at] = heat[at] + SPEED * (neighbours - 6.0 * heat[at])
        heat = step if n == STEPS else boundary.constant_exterior(step, 0.0, bounds)
    size = [SIDE, SIDE, SIDE]
    return spaces.pipeline(heat, name="heat_3d", estimates={block: size, heat: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with a cold layer around the block."""
    heat: Array = inputs["block"]
    for _ in range(STEPS):
        cold = np.pad(heat, 1)
        neighbours = np.sum([np.roll(cold, by, axis) for axis in range(3) for by in (1, -1)], 0)
        heat = heat + SPEED * (neighbours[1:-1, 1:-1, 1:-1] - 6 * heat)
    return heat


GALLERY_PIPELINE = GalleryPipeline(
    name="heat_3d",
    kind=PipelineKind.TIME_STENCILS,
    summary="four steps of heat in a block of 200x200x200, float64",
    pipeline=pipeline,
    expected=expected,
    small={"block": (17, 13, 11), "output": (17, 13, 11)},
    tolerance=1e-12,
)
