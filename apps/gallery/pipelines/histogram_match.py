"""A picture that gets the histogram of another one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, i32, i64, min, select, u8
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1600, 1200


def pipeline() -> Pipeline:
    """Counts of both, their running sums, and for each value the number of values of the reference
    with a smaller share of pixels up to them, as a table.
    """
    x, y, v = Var("x"), Var("y"), Var("v")
    image, reference = ImageParam(UInt8, 2, "image"), ImageParam(UInt8, 2, "reference")

    def cumulated(of: ImageParam, name: str) -> Func:
        counts, upto = Func(f"{name}_counts"), Func(f"{name}_upto")
        r = RDom([(0, of.width()), (0, of.height())], f"{name}_r")
        level = RDom([(1, 255)], f"{name}_level")
        counts[v] = 0
        counts[i32(of[r.x, r.y])] += 1
        upto[v] = counts[v]
        upto[level] = upto[level - 1] + upto[level]
        return upto

    ours, theirs = cumulated(image, "image"), cumulated(reference, "reference")
    table, output = Func("table"), Func("output")
    w = RDom([(0, 256)], "w")
    share = i64(ours[v]) * (reference.width() * reference.height())
    table[v] = 0
    table[v] += select(i64(theirs[w]) * (image.width() * image.height()) < share, 1, 0)
    output[x, y] = u8(min(table[i32(image[x, y])], 255))
    size, other = [WIDTH, HEIGHT], [HEIGHT, WIDTH]
    return spaces.pipeline(
        output,
        name="histogram_match",
        estimates={image: size, reference: other, output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """By a search in the running sums, in parts of one common whole."""
    image, reference = inputs["image"], inputs["reference"]
    ours = np.cumsum(np.bincount(image.ravel(), minlength=256)) * reference.size
    theirs = np.cumsum(np.bincount(reference.ravel(), minlength=256)) * image.size
    table = np.searchsorted(theirs, ours, side="left").astype(np.uint8)
    found: Array = table[image]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="histogram_match",
    kind=PipelineKind.HISTOGRAMS,
    summary="a picture with the histogram of another one, 8 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={"reference": values_in(20, 140)},
    small={"image": (37, 23), "reference": (29, 31), "output": (37, 23)},
)
