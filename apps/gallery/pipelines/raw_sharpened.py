"""A mosaic without its noise, at half the size, sharpened."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt16, Var, abs, clamp, i32, mux, select, u16
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2000, 1500
NOISE = 400
WHITE = 4095


def pipeline() -> Pipeline:
    """The mean of the neighbours of the same colour that differ little, then one pixel for each
    cell of 2x2. Its light, less the mean light of 3x3 pixels, is added to all colours.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    mosaic = ImageParam(UInt16, 2, "mosaic")
    near, denoised, colours, light = map(Func, ("near", "denoised", "colours", "light"))
    blurred, output = Func("blurred"), Func("output")
    r, s = RDom([(0, 3), (0, 3)], "r"), RDom([(0, 3), (0, 3)], "s")
    centre, value = i32(mosaic[x + 2, y + 2]), i32(mosaic[x + 2 * r.x, y + 2 * r.y])
    like = abs(value - centre) < NOISE
    near[x, y] = (0, 0)
    total, number = near[x, y]
    near[x, y] = (total + select(like, value, 0), number + select(like, 1, 0))
    denoised[x, y] = near[x, y][0] / near[x, y][1]
    cell = [denoised[2 * x + i, 2 * y + j] for j in range(2) for i in range(2)]
    colours[x, y, c] = mux(c, [cell[0], (cell[1] + cell[2]) / 2, cell[3]])
    light[x, y] = (colours[x, y, 0] + 2 * colours[x, y, 1] + colours[x, y, 2]) / 4
    blurred[x, y] = 0
    blurred[x, y] += light[x + s.x, y + s.y]
    detail = light[x + 1, y + 1] - blurred[x, y] / 9
    output[x, y, c] = u16(clamp(colours[x + 1, y + 1, c] + detail, 0, WHITE))
    return spaces.pipeline(
        output,
        name="raw_sharpened",
        estimates={mosaic: [2 * WIDTH + 8, 2 * HEIGHT + 8], output: [WIDTH, HEIGHT, 3]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows and strides."""
    mosaic = inputs["mosaic"].astype(np.int64)
    windows = sliding_window_view(mosaic, (5, 5))[:, :, ::2, ::2]
    like = np.abs(windows - mosaic[2:-2, 2:-2, None, None]) < NOISE
    denoised = np.where(like, windows, 0).sum((2, 3)) // like.sum((2, 3))
    red, blue = denoised[::2, ::2], denoised[1::2, 1::2]
    green = (denoised[::2, 1::2] + denoised[1::2, ::2]) // 2
    light = (red + 2 * green + blue) // 4
    detail = light[1:-1, 1:-1] - sliding_window_view(light, (3, 3)).sum((2, 3)) // 9
    colours = np.stack([red, green, blue])[:, 1:-1, 1:-1]
    found: Array = np.clip(colours + detail, 0, WHITE).astype(np.uint16)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="raw_sharpened",
    kind=PipelineKind.CAMERA,
    summary="noise taken from a mosaic of 12 megapixels, half size, sharpened, 12 bits",
    pipeline=pipeline,
    expected=expected,
    inputs={"mosaic": values_in(0, WHITE)},
    small={"mosaic": (82, 54), "output": (37, 23, 3)},
)
