"""The history of a plucked string: all points at all times."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float64, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

POINTS, TIMES = 16384, 256
SPEED = 0.81
"""The square of the number of points that a wave passes in a step."""


def pipeline() -> Pipeline:
    """One update over time and points reads the two times before; the ends stay where they are."""
    x, t = Var("x"), Var("t")
    shape = ImageParam(Float64, 1, "shape")
    output = Func("output")
    r = RDom([(1, shape.width() - 2), (2, TIMES - 2)], "r")
    point, time = r.x, r.y
    output[x, t] = shape[x]
    here = output[point, time - 1]
    bend = output[point - 1, time - 1] - 2.0 * here + output[point + 1, time - 1]
    output[point, time] = 2.0 * here - output[point, time - 2] + SPEED * bend
    return spaces.pipeline(
        output, name="plucked_string", estimates={shape: [POINTS], output: [POINTS, TIMES]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A line of the history from the two before."""
    shape = inputs["shape"]
    history = [shape, shape]
    while len(history) < TIMES:
        before, now = history[-2:]
        after = shape.copy()
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + SPEED * np.diff(now, 2)
        history.append(after)
    return np.stack(history)


GALLERY_PIPELINE = GalleryPipeline(
    name="plucked_string",
    kind=PipelineKind.TIME_STENCILS,
    summary="256 times of a string of 16384 points in one update, float64",
    pipeline=pipeline,
    expected=expected,
    small={"shape": (37,), "output": (37, TIMES)},
    tolerance=1e-10,
)
