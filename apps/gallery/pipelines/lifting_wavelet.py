"""A level of the reversible wavelet transform of JPEG 2000, down and across."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, Var, boundary, i32, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2048, 2048


def pipeline() -> Pipeline:
    """Odd values less the mean of their even neighbours, and even values plus a quarter of these
    differences, by lines and then by columns: four planes. Outside, the picture is mirrored.
    """
    x, y, b = Var("x"), Var("y"), Var("b")
    image = ImageParam(Int16, 2, "image")
    bounded = boundary.mirror_interior(image)
    high_down, low_down = Func("high_down"), Func("low_down")
    lines = [i32(bounded[x, 2 * y + d]) for d in range(3)]
    high_down[x, y] = lines[1] - ((lines[0] + lines[2]) >> 1)
    low_down[x, y] = lines[0] + ((high_down[x, y - 1] + high_down[x, y] + 2) >> 2)

    def across(of: Func, name: str) -> tuple[Func, Func]:
        high, low = Func(f"{name}_high"), Func(f"{name}_low")
        columns = [of[2 * x + d, y] for d in range(3)]
        high[x, y] = columns[1] - ((columns[0] + columns[2]) >> 1)
        low[x, y] = columns[0] + ((high[x - 1, y] + high[x, y] + 2) >> 2)
        return low, high

    planes = (*across(low_down, "low"), *across(high_down, "high"))
    output = Func("output")
    output[x, y, b] = mux(b, [plane[x, y] for plane in planes])
    return spaces.pipeline(
        output,
        name="lifting_wavelet",
        estimates={image: [WIDTH, HEIGHT], output: [WIDTH // 2, HEIGHT // 2, 4]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Lines and columns by one function, whose missing neighbours are the nearest of their kind."""

    def split(values: Array) -> tuple[Array, Array]:
        even, odd = values[::2], values[1::2]
        high = odd - (even + np.vstack([even[1:], even[-1:]])) // 2
        low = even + (high + np.vstack([high[:1], high[:-1]]) + 2) // 4
        return low, high

    halves = split(inputs["image"].astype(np.int32))
    planes: Array = np.stack([plane.T for half in halves for plane in split(half.T)])
    return planes


GALLERY_PIPELINE = GalleryPipeline(
    name="lifting_wavelet",
    kind=PipelineKind.BUTTERFLIES,
    summary="reversible wavelet transform by lifting, 2048x2048, 16 bits to 32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (38, 22), "output": (19, 11, 4)},
)
