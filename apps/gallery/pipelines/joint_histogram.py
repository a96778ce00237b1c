"""How often values of two pictures meet, as the registration of pictures counts it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int32, Pipeline, RDom, UInt8, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1024, 1024
BINS = 32


def pipeline() -> Pipeline:
    """Counts of pairs of 32 levels, the counts of each picture alone, and the excess of each pair
    over what independent pictures would have, times the number of pixels.
    """
    a, b = Var("a"), Var("b")
    first, second = ImageParam(UInt8, 2, "first"), ImageParam(UInt8, 2, "second")
    pairs, firsts, seconds = Func("pairs"), Func("firsts"), Func("seconds")
    excess = Func("excess")
    r = RDom([(0, first.width()), (0, first.height())], "r")
    pairs[a, b] = 0
    pairs[spaces.i32(first[r.x, r.y] / 8), spaces.i32(second[r.x, r.y] / 8)] += 1
    k = RDom([(0, BINS)], "k")
    firsts[a] = 0
    firsts[a] += pairs[a, k]
    seconds[b] = 0
    seconds[b] += pairs[k, b]
    pixels = spaces.i64(first.width() * first.height())
    alone = spaces.i64(firsts[a]) * spaces.i64(seconds[b])
    excess[a, b] = spaces.cast(Int32, spaces.i64(pairs[a, b]) - alone / pixels)
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(
        excess,
        name="joint_histogram",
        estimates={first: size, second: size, excess: [BINS, BINS]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's two-dimensional count."""
    first, second = (inputs[name].astype(np.int64).ravel() // 8 for name in ("first", "second"))
    pairs = np.bincount(second * BINS + first, minlength=BINS * BINS).reshape(BINS, BINS)
    alone = np.outer(pairs.sum(1), pairs.sum(0)) // first.size
    excess: Array = (pairs - alone).astype(np.int32)
    return excess


GALLERY_PIPELINE = GalleryPipeline(
    name="joint_histogram",
    kind=PipelineKind.HISTOGRAMS,
    summary="joint histogram of two pictures, 32x32 levels, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"first": (137, 53), "second": (137, 53), "excess": (BINS, BINS)},
)
