"""Sums over nested blocks: at each pixel, those of 1, 2x2, 4x4 and 8x8 pixels that hold it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, RDom, Var, i32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2048, 2048
LEVELS = 3


def pipeline() -> Pipeline:
    """Sums of 2x2 values, level by level, and their sum from the coarsest level to the finest."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Int16, 2, "image")
    fine = Func("level_0")
    fine[x, y] = i32(image[x, y])
    levels = [fine]
    for n in range(1, LEVELS + 1):
        level, r = Func(f"level_{n}"), RDom([(0, 2), (0, 2)], f"r_{n}")
        level[x, y] += levels[-1][2 * x + r.x, 2 * y + r.y]
        levels.append(level)
    joined = levels.pop()
    for n, level in reversed([*enumerate(levels)]):
        finer = Func(f"joined_{n}" if n else "output")
        finer[x, y] = joined[x / 2, y / 2] + level[x, y]
        joined = finer
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(joined, name="coarse_to_fine", estimates={image: size, joined: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """Sums of blocks, each repeated over its pixels."""
    image = inputs["image"].astype(np.int32)
    height, width = image.shape
    total = np.zeros_like(image)
    for side in (1 << level for level in range(LEVELS + 1)):
        blocks = image.reshape(height // side, side, width // side, side).sum((1, 3))
        total += np.kron(blocks, np.ones((side, side), np.int32)).astype(np.int32)
    return total


GALLERY_PIPELINE = GalleryPipeline(
    name="coarse_to_fine",
    kind=PipelineKind.PYRAMIDS,
    summary="sums of nested blocks down three levels and up, 16 bits to 32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (72, 40), "output": (72, 40)},
)
