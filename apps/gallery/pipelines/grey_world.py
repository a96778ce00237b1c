"""Automatic white balance of a mosaic: the mean of the picture shall be gray."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt16, Var, i32, max, min, u16, u64
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 4608, 3456
BLACK, WHITE = 256, 16383


def pipeline() -> Pipeline:
    """Sums of the four places of a cell of 2x2, line by line; the gain of each place from the
    largest sum, in 1/4096; values times their gain, limited.
    """
    x, y, px, py = Var("x"), Var("y"), Var("px"), Var("py")
    mosaic = ImageParam(UInt16, 2, "mosaic")
    level, lines, sums, gain, output = map(Func, ("level", "lines", "sums", "gain", "output"))
    across = RDom([(0, mosaic.width() / 2)], "across")
    down = RDom([(0, mosaic.height() / 2)], "down")
    level[x, y] = max(i32(mosaic[x, y]) - BLACK, 0)
    lines[px, y] = u64(0)
    lines[px, y] += u64(level[2 * across + px, y])
    sums[px, py] = u64(0)
    sums[px, py] += lines[px, 2 * down + py]
    most = max(*(sums[i, j] for j in range(2) for i in range(2)))
    gain[px, py] = min(most * 4096 / max(sums[px, py], u64(1)), u64(65535))
    raised = u64(level[x, y]) * gain[x % 2, y % 2] / 4096
    output[x, y] = u16(min(raised, u64(WHITE)))
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="grey_world", estimates={mosaic: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """By planes of the cells."""
    level = np.maximum(inputs["mosaic"].astype(np.int64) - BLACK, 0)
    places = [(slice(j, None, 2), slice(i, None, 2)) for j in range(2) for i in range(2)]
    sums = [int(level[place].sum()) for place in places]
    found = np.empty_like(inputs["mosaic"])
    for place, total in zip(places, sums, strict=True):
        gain = np.max(sums) * 4096 // total
        found[place] = np.minimum(level[place] * gain // 4096, WHITE)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="grey_world",
    kind=PipelineKind.CAMERA,
    summary="automatic white balance of a mosaic of 16 megapixels, 16 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={"mosaic": values_in(0, WHITE)},
    small={"mosaic": (38, 22), "output": (38, 22)},
)
