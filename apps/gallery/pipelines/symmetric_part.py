"""The symmetric part of a matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIDE = 4096


def pipeline() -> Pipeline:
    """The mean of each value and the value across the diagonal."""
    x, y = Var("x"), Var("y")
    matrix = ImageParam(Float32, 2, "matrix")
    output = Func("output")
    output[x, y] = (matrix[x, y] + matrix[y, x]) * 0.5
    size = [SIDE, SIDE]
    return spaces.pipeline(output, name="symmetric_part", estimates={matrix: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The mean of the matrix and its transpose."""
    matrix = inputs["matrix"].astype(np.float64)
    return (matrix + matrix.T) / 2


GALLERY_PIPELINE = GalleryPipeline(
    name="symmetric_part",
    kind=PipelineKind.TRANSPOSES,
    summary="mean of a matrix and its transpose, 4096x4096, float32",
    pipeline=pipeline,
    expected=expected,
    small={"matrix": (37, 37), "output": (37, 37)},
)
