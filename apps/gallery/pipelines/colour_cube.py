"""Colours by a table of 17x17x17, interpolated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, UInt8, Var, cast, f32, i32, lerp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1080
SIDE = 17


def pipeline() -> Pipeline:
    """Eight neighbours in the table, mixed along red, green and blue."""
    x, y, c = Var("x"), Var("y"), Var("c")
    rgb, table = ImageParam(UInt8, 3, "rgb"), ImageParam(Float32, 4, "table")
    scaled, output = Func("scaled"), Func("output")
    scaled[x, y, c] = f32(rgb[x, y, c]) * ((SIDE - 1) / 255.0)
    places = [spaces.min(i32(scaled[x, y, i]), SIDE - 2) for i in range(3)]
    r, g, b = (spaces.clamp(place, 0, SIDE - 2) for place in places)
    shares = [scaled[x, y, i] - f32(place) for i, place in enumerate((r, g, b))]

    def along_red(dg: int, db: int) -> spaces.Expr:
        return lerp(table[r, g + dg, b + db, c], table[r + 1, g + dg, b + db, c], shares[0])

    def along_green(db: int) -> spaces.Expr:
        return lerp(along_red(0, db), along_red(1, db), shares[1])

    value = lerp(along_green(0), along_green(1), shares[2])
    output[x, y, c] = cast(UInt8, value * 255.0 + 0.5)
    size = [WIDTH, HEIGHT, 3]
    return spaces.pipeline(
        output,
        name="colour_cube",
        estimates={rgb: size, table: [SIDE, SIDE, SIDE, 3], output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A sum over the corners with products of shares, in float32 as the sum is cut off."""
    scaled = inputs["rgb"].astype(np.float32) * np.float32((SIDE - 1) / 255)
    low = np.minimum(scaled.astype(np.int64), SIDE - 2)
    share = scaled.astype(np.float64) - low
    total = np.zeros(scaled.shape)
    for corner in np.ndindex(2, 2, 2):
        r, g, b = (low[i] + corner[i] for i in range(3))
        weights = [share[i] if corner[i] else 1 - share[i] for i in range(3)]
        total += inputs["table"][:, b, g, r] * np.prod(weights, axis=0)
    found: Array = (total * 255 + 0.5).astype(np.uint8)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="colour_cube",
    kind=PipelineKind.LOOKUPS,
    summary="colours by an interpolated table of 17x17x17, RGB, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"rgb": (37, 23, 3), "table": (SIDE, SIDE, SIDE, 3), "output": (37, 23, 3)},
)
