"""Running sums of lines."""

from __future__ import annotations

from collections.abc import Mapping

import spaces
from spaces import Float64, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4096, 2048


def pipeline() -> Pipeline:
    """Each value plus the sum before it, in float64."""
    x, y = Var("x"), Var("y")
    values = ImageParam(Float64, 2, "values")
    output = Func("output")
    r = RDom([(1, values.width() - 1)], "r")
    output[x, y] = values[x, y]
    output[r, y] += output[r - 1, y]
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="cumulative_lines", estimates={values: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's running sum."""
    sums: Array = inputs["values"].cumsum(1)
    return sums


GALLERY_PIPELINE = GalleryPipeline(
    name="cumulative_lines",
    kind=PipelineKind.SCANS,
    summary="running sums of 2048 lines of 4096 values, float64",
    pipeline=pipeline,
    expected=expected,
    inputs={"values": values_in(-1, 1)},
    small={"values": (37, 23), "output": (37, 23)},
    tolerance=1e-12,
)
