"""RGB to luminance and colour planes of half the size, as video has them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, i32, mux, u8_sat
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1920, 1080


def pipeline() -> Pipeline:
    """Luminance of each pixel and the colours of each 2x2 pixels, in integers of 8 fraction bits.
    The output has the two colours and the mean luminance of each 2x2 pixels.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    rgb = ImageParam(UInt8, 3, "rgb")
    luminance, colour, output = Func("luminance"), Func("colour"), Func("output")
    r, g, b = (i32(rgb[x, y, i]) for i in range(3))
    luminance[x, y] = (66 * r + 129 * g + 25 * b + 128) / 256 + 16

    def mean(i: int) -> spaces.Expr:
        places = [(2 * x + dx, 2 * y + dy) for dy in (0, 1) for dx in (0, 1)]
        four = [i32(rgb[px, py, i]) for px, py in places]
        return (four[0] + four[1] + four[2] + four[3] + 2) / 4

    red, green, blue = mean(0), mean(1), mean(2)
    u = (-38 * red - 74 * green + 112 * blue + 128) / 256 + 128
    v = (112 * red - 94 * green - 18 * blue + 128) / 256 + 128
    colour[x, y, c] = mux(c, [u, v])
    lights = luminance[2 * x, 2 * y] + luminance[2 * x + 1, 2 * y + 1]
    output[x, y, c] = u8_sat(mux(c, [lights / 2, colour[x, y, 0], colour[x, y, 1]]))
    return spaces.pipeline(
        output,
        name="yuv_420",
        estimates={rgb: [WIDTH, HEIGHT, 3], output: [WIDTH // 2, HEIGHT // 2, 3]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Products with rows of the matrix of colours."""
    rgb = inputs["rgb"].astype(np.int64)
    light = (np.tensordot([66, 129, 25], rgb, 1) + 128) // 256 + 16
    mean = (rgb[:, ::2, ::2] + rgb[:, 1::2, ::2] + rgb[:, ::2, 1::2] + rgb[:, 1::2, 1::2] + 2) // 4
    colour = (np.tensordot([[-38, -74, 112], [112, -94, -18]], mean, 1) + 128) // 256 + 128
    lights = (light[::2, ::2] + light[1::2, 1::2]) // 2
    planes: Array = np.clip([lights, *colour], 0, 255).astype(np.uint8)
    return planes


GALLERY_PIPELINE = GalleryPipeline(
    name="yuv_420",
    kind=PipelineKind.COLOURS,
    summary="RGB to luminance and colour planes at half the size, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"rgb": (74, 46, 3), "output": (37, 23, 3)},
)
