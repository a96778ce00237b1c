"""Pixels of a palette as RGB, brightened by a second table."""

from __future__ import annotations

from collections.abc import Mapping

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, i32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 8192, 4096


def pipeline() -> Pipeline:
    """A colour for each index, and a curve for each value of a colour."""
    x, y, c, v = Var("x"), Var("y"), Var("c"), Var("v")
    indices, colours = ImageParam(UInt8, 2, "indices"), ImageParam(UInt8, 2, "colours")
    curve, bright, output = ImageParam(UInt8, 1, "curve"), Func("bright"), Func("output")
    bright[c, v] = curve[i32(colours[c, v])]
    output[c, x, y] = bright[c, i32(indices[x, y])]
    return spaces.pipeline(
        output,
        name="palette",
        estimates={
            indices: [WIDTH, HEIGHT],
            colours: [3, 256],
            curve: [256],
            output: [3, WIDTH, HEIGHT],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's indices."""
    found: Array = inputs["curve"][inputs["colours"]][inputs["indices"]]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="palette",
    kind=PipelineKind.LOOKUPS,
    summary="indices of a palette to interleaved RGB, 33 megapixels, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"indices": (37, 23), "colours": (3, 256), "curve": (256,), "output": (3, 37, 23)},
)
