"""Unsharp mask: a sharpened picture is the picture plus its difference from a blurred copy.

One of the pipelines that [S19] and [S20] schedule; the stages are those of Halide's app.
"""

from __future__ import annotations

import math

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, exp
from spaces.apps.app import App
from spaces.apps.pictures import clipped
from spaces.apps.pipelines.edges import edges_repeated

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

SIGMA = 1.5
"""Standard deviation of the Gaussian, in pixels."""

_AREA = float(np.sqrt(np.float32(2 * math.pi)) * np.float32(SIGMA))
"""The area below a Gaussian of height 1, each step rounded to float32."""

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the gray value (ITU-R BT.601)."""


def pipeline() -> Pipeline:
    """RGB in [0, 1] to gray, a 7x7 Gaussian in two passes, and each channel scaled by the ratio of
    the sharpened gray to the gray. Outside, the picture repeats its edge pixels.

    Where the gray is 0 the ratio is NaN, as in Halide's app.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    image = ImageParam(Float32, 3, "input")
    bounded = edges_repeated(image)

    kernel = Func("kernel")
    kernel[x] = exp(-x * x / (2 * SIGMA * SIGMA)) / _AREA

    gray = Func("gray")
    red, green, blue = LUMA
    gray[x, y] = red * bounded[x, y, 0] + green * bounded[x, y, 1] + blue * bounded[x, y, 2]

    blur_y = Func("blur_y")
    blur_y[x, y] = (
        kernel[0] * gray[x, y]
        + kernel[1] * (gray[x, y - 1] + gray[x, y + 1])
        + kernel[2] * (gray[x, y - 2] + gray[x, y + 2])
        + kernel[3] * (gray[x, y - 3] + gray[x, y + 3])
    )

    blur_x = Func("blur_x")
    blur_x[x, y] = (
        kernel[0] * blur_y[x, y]
        + kernel[1] * (blur_y[x - 1, y] + blur_y[x + 1, y])
        + kernel[2] * (blur_y[x - 2, y] + blur_y[x + 2, y])
        + kernel[3] * (blur_y[x - 3, y] + blur_y[x + 3, y])
    )

    sharpen = Func("sharpen")
    sharpen[x, y] = 2 * gray[x, y] - blur_x[x, y]

    ratio = Func("ratio")
    ratio[x, y] = sharpen[x, y] / gray[x, y]

    output = Func("output")
    output[x, y, c] = ratio[x, y] * bounded[x, y, c]

    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(output, name="unsharp", estimates={image: size, output: size})


APP = App(
    "unsharp",
    "[S20]",
    "sharpening by a 7x7 Gaussian, RGB",
    pipeline,
    picture=clipped,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S20]",
)
