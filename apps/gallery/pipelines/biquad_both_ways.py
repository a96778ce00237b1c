"""A recursive filter of order two along lines, forth and back, so that nothing moves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4096, 1024
GAIN, FIRST, SECOND = 0.09, 1.4, -0.49
"""Of the input and of the two outputs before: a double pole at 0.7, with gain 1 for constants."""


def pipeline() -> Pipeline:
    """Two passes over each line; each begins with the first two values as they are."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    forth, output = Func("forth"), Func("output")
    r, s = (RDom([(2, image.width() - 2)], name) for name in "rs")
    forth[x, y] = image[x, y]
    forth[r, y] = GAIN * image[r, y] + FIRST * forth[r - 1, y] + SECOND * forth[r - 2, y]
    output[x, y] = forth[x, y]
    at = image.width() - 1 - s
    output[at, y] = GAIN * forth[at, y] + FIRST * output[at + 1, y] + SECOND * output[at + 2, y]
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="biquad_both_ways", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same, a column of all lines at a time."""

    def filtered(lines: Array) -> Array:
        columns = [*lines.T[:2]]
        for column in lines.T[2:]:
            columns.append(GAIN * column + FIRST * columns[-1] + SECOND * columns[-2])
        return np.stack(columns, 1)

    return filtered(filtered(inputs["image"].astype(np.float64))[:, ::-1])[:, ::-1]


GALLERY_PIPELINE = GalleryPipeline(
    name="biquad_both_ways",
    kind=PipelineKind.SCANS,
    summary="recursive filter of order two along lines, both ways, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
    tolerance=1e-5,
)
