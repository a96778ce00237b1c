"""A mosaic of colours to RGB by the means of neighbours."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var, boundary, mux, select, u16, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 5184, 3456


def pipeline() -> Pipeline:
    """Red at even places of even lines, blue at odd places of odd ones, green elsewhere; the two
    missing colours of a place are the means of the nearest ones. Outside, the mosaic is mirrored.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    mosaic = ImageParam(UInt16, 2, "mosaic")
    raw = boundary.mirror_interior(mosaic)
    beside, above, cross, corners = Func("beside"), Func("above"), Func("cross"), Func("corners")

    def value(dx: int, dy: int) -> spaces.Expr:
        return u32(raw[x + dx, y + dy])

    beside[x, y] = u16((value(-1, 0) + value(1, 0)) / 2)
    above[x, y] = u16((value(0, -1) + value(0, 1)) / 2)
    cross[x, y] = u16((value(-1, 0) + value(1, 0) + value(0, -1) + value(0, 1)) / 4)
    corners[x, y] = u16((value(-1, -1) + value(1, -1) + value(-1, 1) + value(1, 1)) / 4)

    red_line, even = y % 2 == 0, x % 2 == 0
    here = raw[x, y]
    red = select(
        red_line, select(even, here, beside[x, y]), select(even, above[x, y], corners[x, y])
    )
    blue = select(
        red_line, select(even, corners[x, y], above[x, y]), select(even, beside[x, y], here)
    )
    green = select(red_line == even, cross[x, y], here)
    output = Func("output")
    output[x, y, c] = mux(c, [red, green, blue])
    return spaces.pipeline(
        output,
        name="demosaic",
        estimates={mosaic: [WIDTH, HEIGHT], output: [WIDTH, HEIGHT, 3]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Each plane from its sparse places, by weights and their sums."""
    padded = np.pad(inputs["mosaic"].astype(np.int64), 1, mode="reflect")
    height, width = inputs["mosaic"].shape
    line, place = np.mgrid[-1 : height + 1, -1 : width + 1] % 2
    planes = []
    for mask in ((line == 0) & (place == 0), line != place, (line == 1) & (place == 1)):
        known, count = np.where(mask, padded, 0), mask.astype(np.int64)
        near = [(dy, dx) for dy in range(3) for dx in range(3)]

        def around(values: Array, places: list[tuple[int, int]]) -> Array:
            found: Array = np.sum(
                [values[j : j + height, i : i + width] for j, i in places], axis=0
            )
            return found

        direct = [(j, i) for j, i in near if abs(j - 1) + abs(i - 1) == 1]
        apart = [(j, i) for j, i in near if abs(j - 1) + abs(i - 1) == 2]
        plane = padded[1:-1, 1:-1] * count[1:-1, 1:-1]
        for places in (direct, apart):
            total, number = around(known, places), around(count, places)
            found = total // np.maximum(number, 1)
            missing = (count[1:-1, 1:-1] == 0) & (number > 0)
            if places is apart:
                missing &= around(count, direct) == 0
            plane = np.where(missing, found, plane)
        planes.append(plane)
    stacked: Array = np.stack(planes).astype(np.uint16)
    return stacked


GALLERY_PIPELINE = GalleryPipeline(
    name="demosaic",
    kind=PipelineKind.CAMERA,
    summary="bilinear demosaic of 18 megapixels, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"mosaic": (37, 23), "output": (37, 23, 3)},
)
