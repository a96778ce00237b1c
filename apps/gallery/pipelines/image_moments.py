"""The moments of masks up to order two: area, centre and axes of a shape."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, i64, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, MASKS = 1024, 768, 10


def pipeline() -> Pipeline:
    """The sums of v, v x, v y, v x², v x y and v y² over all pixels, as one Tuple."""
    k, n = Var("k"), Var("n")
    masks = ImageParam(UInt8, 3, "masks")
    sums, output = Func("sums"), Func("output")
    r = RDom([(0, masks.width()), (0, masks.height())], "r")
    x, y, value = i64(r.x), i64(r.y), i64(masks[r.x, r.y, n])
    terms = value, value * x, value * y, value * x * x, value * x * y, value * y * y
    sums[n] = (i64(0),) * len(terms)
    sums[n] = tuple(now + term for now, term in zip(sums[n], terms, strict=True))
    output[k, n] = mux(k, [*sums[n]])
    return spaces.pipeline(
        output,
        name="image_moments",
        estimates={masks: [WIDTH, HEIGHT, MASKS], output: [6, MASKS]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Products with powers of the coordinates."""
    masks = inputs["masks"].astype(np.int64)
    y, x = (np.arange(extent) for extent in masks.shape[1:])
    powers = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    return np.stack([masks @ x**i @ y**j for i, j in powers], 1)


GALLERY_PIPELINE = GalleryPipeline(
    name="image_moments",
    kind=PipelineKind.REDUCTIONS,
    summary="six moments of each of ten images, 8 bits to 64",
    pipeline=pipeline,
    expected=expected,
    small={"masks": (37, 23, 5), "output": (6, 5)},
)
