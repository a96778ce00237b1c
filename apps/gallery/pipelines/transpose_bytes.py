"""The transpose of a large matrix of bytes."""

from __future__ import annotations

from collections.abc import Mapping

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 6000, 5000


def pipeline() -> Pipeline:
    """Lines become columns."""
    x, y = Var("x"), Var("y")
    matrix = ImageParam(UInt8, 2, "matrix")
    output = Func("output")
    output[x, y] = matrix[y, x]
    return spaces.pipeline(
        output,
        name="transpose_bytes",
        estimates={matrix: [HEIGHT, WIDTH], output: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's transpose."""
    return inputs["matrix"].T


GALLERY_PIPELINE = GalleryPipeline(
    name="transpose_bytes",
    kind=PipelineKind.TRANSPOSES,
    summary="transpose of 30 megabytes, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"matrix": (23, 37), "output": (37, 23)},
)
