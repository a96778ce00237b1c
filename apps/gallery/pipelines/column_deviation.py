"""Stripes of a line sensor removed: each column less its mean."""

from __future__ import annotations

from collections.abc import Mapping

import spaces
from spaces import Func, ImageParam, Int32, Pipeline, RDom, Var, f32, f64, i64
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2048, 6000


def pipeline() -> Pipeline:
    """Sums of columns in 64 bits, their means, and the differences from them."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Int32, 2, "image")
    sums, means, output = Func("sums"), Func("means"), Func("output")
    r = RDom([(0, image.height())], "r")
    sums[x] = i64(0)
    sums[x] += i64(image[x, r])
    means[x] = f64(sums[x]) / f64(image.height())
    output[x, y] = f32(image[x, y] - means[x])
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="column_deviation", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The image less the means of its columns."""
    image = inputs["image"]
    deviation: Array = image - image.mean(0)
    return deviation


GALLERY_PIPELINE = GalleryPipeline(
    name="column_deviation",
    kind=PipelineKind.REDUCTIONS,
    summary="columns less their means, 12 megapixels, 32 bits to float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
