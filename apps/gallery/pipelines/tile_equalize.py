"""Equalisation by the histogram of each tile, with limited contrast."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, cast
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

TILE = 64
ACROSS, DOWN = 24, 16
LIMIT = 40


def pipeline() -> Pipeline:
    """The histogram of each tile of 64x64 pixels, cut at 40, its running sum, and each pixel by the
    table of its tile.
    """
    x, y, v, tx, ty = Var("x"), Var("y"), Var("v"), Var("tx"), Var("ty")
    image = ImageParam(UInt8, 2, "image")
    counts, table, output = Func("counts"), Func("table"), Func("output")
    r = RDom([(0, TILE), (0, TILE)], "r")
    counts[v, tx, ty] = 0
    counts[spaces.i32(image[tx * TILE + r.x, ty * TILE + r.y]), tx, ty] += 1
    level = RDom([(1, 255)], "level")
    table[v, tx, ty] = spaces.min(counts[v, tx, ty], LIMIT)
    table[level, tx, ty] = table[level - 1, tx, ty] + table[level, tx, ty]
    total = table[255, x / TILE, y / TILE]
    mapped = table[spaces.i32(image[x, y]), x / TILE, y / TILE] * 255 / spaces.max(total, 1)
    output[x, y] = cast(UInt8, mapped)
    size = [TILE * ACROSS, TILE * DOWN]
    return spaces.pipeline(output, name="tile_equalize", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """A table for each tile."""
    image = inputs["image"]
    found: Array = np.empty_like(image)
    for y in range(0, image.shape[0], TILE):
        for x in range(0, image.shape[1], TILE):
            tile = image[y : y + TILE, x : x + TILE]
            upto = np.cumsum(np.minimum(np.bincount(tile.ravel(), minlength=256), LIMIT))
            found[y : y + TILE, x : x + TILE] = (upto * 255 // upto[-1])[tile]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="tile_equalize",
    kind=PipelineKind.HISTOGRAMS,
    summary="equalisation by limited histograms of tiles of 64x64, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (2 * TILE, TILE), "output": (2 * TILE, TILE)},
)
