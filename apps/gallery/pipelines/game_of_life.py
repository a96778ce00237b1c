"""Four generations of Conway's game of life on a torus."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, boundary, select, u8
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4096, 4096
GENERATIONS = 4


def pipeline() -> Pipeline:
    """A cell lives if three of its eight neighbours do, or two and it lives; a byte a cell."""
    x, y = Var("x"), Var("y")
    cells = ImageParam(UInt8, 2, "cells")
    world = boundary.repeat_image(cells)
    for n in range(1, GENERATIONS + 1):
        rows, after = Func(f"rows_{n}"), Func(f"world_{n}" if n < GENERATIONS else "output")
        rows[x, y] = world[x - 1, y] + world[x, y] + world[x + 1, y]
        alive = rows[x, y - 1] + rows[x, y] + rows[x, y + 1]
        lives = (alive == 3) | ((alive == 4) & (world[x, y] == 1))
        after[x, y] = select(lives, u8(1), u8(0))
        world = after
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(world, name="game_of_life", estimates={cells: size, world: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with the whole world turned."""
    world: Array = inputs["cells"].astype(bool)
    turns = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    for _ in range(GENERATIONS):
        neighbours = np.sum([np.roll(world, turn, (0, 1)) for turn in turns], 0)
        world = (neighbours == 3) | (world & (neighbours == 2))
    return world.astype(np.uint8)


GALLERY_PIPELINE = GalleryPipeline(
    name="game_of_life",
    kind=PipelineKind.TIME_STENCILS,
    summary="four generations of the game of life on a torus, 8 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={"cells": values_in(0, 1)},
    small={"cells": (37, 23), "output": (37, 23)},
)
