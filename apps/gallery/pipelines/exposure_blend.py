"""One picture of a large range from four exposures, each twice as long as the one before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, u16, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, EXPOSURES = 6000, 4000, 4


def pipeline() -> Pipeline:
    """The mean of the exposures in the units of the longest, each pixel weighted by its distance
    from black and from white.
    """
    x, y = Var("x"), Var("y")
    shots = ImageParam(UInt8, 3, "shots")
    sums, output = Func("sums"), Func("output")
    r = RDom([(0, EXPOSURES)], "r")
    value = u32(shots[x, y, r])
    weight = spaces.min(value, 255 - value) + 1
    sums[x, y] = (u32(0), u32(0))
    sums[x, y] = (
        sums[x, y][0] + weight * (value << u32(EXPOSURES - 1 - r)),
        sums[x, y][1] + weight,
    )
    output[x, y] = u16(sums[x, y][0] / sums[x, y][1])
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(
        output, name="exposure_blend", estimates={shots: [*size, EXPOSURES], output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with the exposures stacked."""
    shots = inputs["shots"].astype(np.int64)
    weights = 1 + np.minimum(shots, 255 - shots)
    gains = 2 ** np.arange(EXPOSURES)[::-1, None, None]
    means: Array = (weights * shots * gains).sum(0) // weights.sum(0)
    return means.astype(np.uint16)


GALLERY_PIPELINE = GalleryPipeline(
    name="exposure_blend",
    kind=PipelineKind.POINTWISE,
    summary="weighted mean of four exposures of 24 megapixels, 8 bits to 16",
    pipeline=pipeline,
    expected=expected,
    small={"shots": (37, 23, 4), "output": (37, 23)},
)
