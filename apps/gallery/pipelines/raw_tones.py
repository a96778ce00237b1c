"""From raw RGB to a picture: black level, white balance, colours, tone curve."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import (
    Float32,
    Func,
    ImageParam,
    Param,
    Pipeline,
    RDom,
    UInt8,
    UInt16,
    Var,
    cast,
    clamp,
    f32,
    mux,
)
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2592, 1944
LEVELS = 1024
BALANCE = (2.0, 1.0, 1.5)


def pipeline() -> Pipeline:
    """Less the black level, times a factor for each colour, times a matrix of colours, limited, and
    through a table of 1024 tones.
    """
    x, y, c, v = Var("x"), Var("y"), Var("c"), Var("v")
    raw, matrix = ImageParam(UInt16, 3, "raw"), ImageParam(Float32, 2, "matrix")
    black = Param(UInt16, "black", 64)
    curve, balanced, coloured = Func("curve"), Func("balanced"), Func("coloured")
    tone = spaces.pow(f32(v) / (LEVELS - 1.0), 1 / 2.2)
    curve[v] = cast(UInt8, 255.0 * (tone * tone * (3.0 - 2.0 * tone)) + 0.5)
    factor = mux(c, [float(one) for one in BALANCE])
    balanced[x, y, c] = f32(spaces.saturating_sub(raw[x, y, c], black.as_expr())) * factor
    r = RDom([(0, 3)], "r")
    coloured[x, y, c] = 0.0
    coloured[x, y, c] += matrix[r, c] * balanced[x, y, r]
    output = Func("output")
    output[x, y, c] = curve[spaces.i32(clamp(coloured[x, y, c], 0.0, LEVELS - 1.0))]
    size = [WIDTH, HEIGHT, 3]
    return spaces.pipeline(
        output, name="raw_tones", estimates={raw: size, matrix: [3, 3], output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with whole arrays, in float32 as the table is read at whole numbers."""
    tone = (np.arange(LEVELS, dtype=np.float32) / np.float32(LEVELS - 1)) ** np.float32(1 / 2.2)
    curve = (255 * (tone * tone * (3 - 2 * tone)) + np.float32(0.5)).astype(np.uint8)
    above = np.maximum(inputs["raw"].astype(np.int64) - 64, 0).astype(np.float32)
    balanced = above * np.array(BALANCE, np.float32)[:, None, None]
    coloured = np.zeros_like(balanced)
    for r in range(3):
        coloured += inputs["matrix"][:, r, None, None] * balanced[r]
    found: Array = curve[np.clip(coloured, 0, LEVELS - 1).astype(np.int64)]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="raw_tones",
    kind=PipelineKind.CAMERA,
    summary="raw RGB to a picture by a matrix and a tone curve, 16 bits to 8",
    pipeline=pipeline,
    expected=expected,
    inputs={"raw": values_in(0, 900), "matrix": values_in(-0.3, 1.0)},
    small={"raw": (37, 23, 3), "matrix": (3, 3), "output": (37, 23, 3)},
)
