"""A page made black and white at the level that separates its values best."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import (
    Func,
    ImageParam,
    Pipeline,
    RDom,
    UInt8,
    Var,
    argmax,
    f64,
    i32,
    i64,
    max,
    select,
    u8,
)
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2480, 3508


def pipeline() -> Pipeline:
    """Counts of values, running sums of counts and of values, the variance between both sides of
    each level, and the level where it is largest (Otsu, 1979).
    """
    x, y, v = Var("x"), Var("y"), Var("v")
    image = ImageParam(UInt8, 2, "image")
    counts, upto, apart, level = map(Func, ("counts", "upto", "apart", "level"))
    output = Func("output")
    r = RDom([(0, image.width()), (0, image.height())], "r")
    k, t = RDom([(1, 255)], "k"), RDom([(0, 255)], "t")
    counts[v] = 0
    counts[i32(image[r.x, r.y])] += 1
    upto[v] = (i64(counts[v]), i64(counts[v]) * v)
    upto[k] = (upto[k][0] + upto[k - 1][0], upto[k][1] + upto[k - 1][1])
    darker, brighter = upto[v][0], upto[255][0] - upto[v][0]
    difference = f64(upto[255][1] * darker - upto[v][1] * upto[255][0])
    apart[v] = difference * difference / f64(max(darker * brighter, 1))
    level[()] = argmax(apart[t])[0]
    output[x, y] = select(i32(image[x, y]) > level[()], u8(255), u8(0))
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="otsu", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The least sum of the variances of both sides, level by level."""
    image = inputs["image"]
    sides = [(image[image <= t], image[image > t]) for t in range(255)]
    within = [sum(side.size * side.var() for side in pair if side.size) for pair in sides]
    found: Array = np.where(image > np.argmin(within), 255, 0).astype(np.uint8)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="otsu",
    kind=PipelineKind.HISTOGRAMS,
    summary="a page of 9 megapixels made black and white by Otsu's level, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
