"""A background that follows a camera of lines: exponential smoothing down the columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int32, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2048, 3000
SHIFT = 3


def pipeline() -> Pipeline:
    """The background moves an eighth of the way to each new line, in fixed point; the output says
    where a line is far from the background before it.
    """
    x, y = Var("x"), Var("y")
    lines = ImageParam(Int32, 2, "lines")
    background, output = Func("background"), Func("output")
    r = RDom([(1, lines.height() - 1)], "r")
    background[x, y] = lines[x, y] << 8
    background[x, r] = background[x, r - 1] + (((lines[x, r] << 8) - background[x, r - 1]) >> SHIFT)
    before = background[x, spaces.max(y - 1, 0)]
    output[x, y] = spaces.abs(lines[x, y] - (before >> 8)) > 3000
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(
        output, name="exponential_smoothing", estimates={lines: size, output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same line by line, with floored divisions."""
    lines = inputs["lines"].astype(np.int64)
    background = 256 * lines[0]
    far = [np.zeros(lines.shape[1], bool)]
    for line in lines[1:]:
        far.append(np.abs(line - background // 256) > 3000)
        background = background + (256 * line - background) // 8
    return np.stack(far)


GALLERY_PIPELINE = GalleryPipeline(
    name="exponential_smoothing",
    kind=PipelineKind.SCANS,
    summary="background of lines by exponential smoothing, int32 to bool",
    pipeline=pipeline,
    expected=expected,
    inputs={"lines": values_in(-4096, 4095)},
    small={"lines": (37, 23), "output": (37, 23)},
)
