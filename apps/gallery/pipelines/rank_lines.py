"""A rank filter that keeps lines: the least of the maxima along four directions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, boundary
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1200
REACH = 3
DIRECTIONS = {"across": (1, 0), "down": (0, 1), "falling": (1, 1), "rising": (1, -1)}


def pipeline() -> Pipeline:
    """Maxima of seven pixels along lines, columns and both diagonals, and the least of them.
    Outside, the image repeats its edge pixels.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    edges = boundary.repeat_edge(image)
    output = Func("output")
    maxima = []
    for name, (dx, dy) in DIRECTIONS.items():
        r = RDom([(-REACH, 2 * REACH + 1)], f"along_{name}")
        maxima.append(spaces.maximum(edges[x + dx * r, y + dy * r], name))
    output[x, y] = spaces.min(*maxima)
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="rank_lines", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with shifted copies of the image."""
    image = inputs["image"]
    height, width = image.shape
    padded = np.pad(image, REACH, mode="edge")

    def shifted(dx: int, dy: int) -> Array:
        top, left = REACH + dy, REACH + dx
        return padded[top : top + height, left : left + width]

    steps = range(-REACH, REACH + 1)
    maxima = [np.max([shifted(k * i, k * j) for k in steps], 0) for i, j in DIRECTIONS.values()]
    least: Array = np.min(maxima, 0)
    return least


GALLERY_PIPELINE = GalleryPipeline(
    name="rank_lines",
    kind=PipelineKind.SORTING,
    summary="least of the maxima along four directions, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
