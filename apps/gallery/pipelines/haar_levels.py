"""Two levels of the Haar transform of a picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, UInt8, Var, cast, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1024, 768


def pipeline() -> Pipeline:
    """Means and differences of 2x2 values, which are four bands of the picture. The band of means
    has four such bands in turn, at half the resolution. Each is summed by its energy with three
    bands of the first level.
    """
    x, y, b = Var("x"), Var("y"), Var("b")
    image = ImageParam(UInt8, 2, "image")
    value = Func("value")
    value[x, y] = cast(Int16, image[x, y])

    def bands(of: Func, name: str) -> Func:
        across, result = Func(f"{name}_across"), Func(name)
        left, right = of[2 * x, y], of[2 * x + 1, y]
        across[x, y, b] = mux(b, [(left + right) >> 1, left - right])
        top, bottom = across[x, 2 * y, b % 2], across[x, 2 * y + 1, b % 2]
        result[x, y, b] = mux(b / 2, [(top + bottom) >> 1, top - bottom])
        return result

    first, means = bands(value, "first"), Func("means")
    means[x, y] = first[x, y, 0]
    second, output = bands(means, "second"), Func("output")
    fine = first[2 * x, 2 * y, b] + first[2 * x + 1, 2 * y + 1, b]
    output[x, y, b] = second[x, y, b] + (fine >> 1)
    return spaces.pipeline(
        output,
        name="haar_levels",
        estimates={image: [WIDTH, HEIGHT], output: [WIDTH // 4, HEIGHT // 4, 4]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with slices."""

    def bands(values: Array) -> Array:
        left, right = values[:, ::2], values[:, 1::2]
        columns = (left + right) >> 1, left - right
        pairs = [(one[::2], one[1::2]) for one in columns]
        found = [(a + b) >> 1 for a, b in pairs] + [a - b for a, b in pairs]
        return np.stack(found)

    first = bands(inputs["image"].astype(np.int16))
    second = bands(first[0])
    found: Array = second + ((first[:, ::2, ::2] + first[:, 1::2, 1::2]) >> 1)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="haar_levels",
    kind=PipelineKind.BUTTERFLIES,
    summary="two levels of the Haar transform, 1024x768, 8 bits to 16",
    pipeline=pipeline,
    expected=expected,
    small={"image": (52, 36), "output": (13, 9, 4)},
)
