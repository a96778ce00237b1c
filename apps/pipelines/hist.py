"""Histogram equalisation of a color picture: one of the pipelines of [S20] and [A21].

Every gray value is replaced by the share of pixels that are not brighter; colors keep their
distance from gray. The values are those of Halide's app.
"""

from __future__ import annotations

import spaces
from spaces import Float32, Func, ImageParam, Int32, Pipeline, RDom, UInt8, Var, cast, clamp, mux
from spaces.apps.app import App
from spaces.apps.pictures import clipped
from spaces.model.expressions.expr import Expr

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the gray value (ITU-R BT.601)."""

LEVELS = 256


def pipeline() -> Pipeline:
    """8-bit RGB to 8-bit RGB: a histogram of each line, their sum, its running sum as a table of
    gray values, and colors from gray and two differences from it; 128 means no difference.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    image = ImageParam(UInt8, 3, "input")

    gray = Func("gray")
    red, green, blue = (cast(Float32, image[x, y, i]) for i in range(3))
    gray[x, y] = LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue
    red_difference, blue_difference = Func("red_difference"), Func("blue_difference")
    red_difference[x, y] = (red - gray[x, y]) * 0.713 + 128.0
    blue_difference[x, y] = (blue - gray[x, y]) * 0.564 + 128.0

    lines = Func("lines")
    across = RDom([(0, image.width())], "across")
    lines[x, y] = 0
    lines[cast(Int32, clamp(gray[across, y].as_expr(), 0.0, 255.0)), y] += 1
    histogram = Func("histogram")
    down = RDom([(0, image.height())], "down")
    histogram[x] = 0
    histogram[x] += lines[x, down]

    cumulated = Func("cumulated")
    above = RDom([(1, LEVELS - 1)], "above")
    cumulated[x] = histogram[0]
    cumulated[above] = cumulated[above - 1] + histogram[above]

    level, equalized = Func("level"), Func("equalized")
    level[x, y] = cast(UInt8, clamp(gray[x, y].as_expr(), 0.0, 255.0))
    share = 255.0 / cast(Float32, image.height() * image.width())
    equalized[x, y] = clamp(cast(Float32, cumulated[level[x, y]]) * share, 0.0, 255.0)

    output = Func("output")
    even, r, b = equalized[x, y], red_difference[x, y] - 128.0, blue_difference[x, y] - 128.0
    rgb = even + r * 1.4, even - 0.343 * b - 0.711 * r, even + 1.765 * b
    output[x, y, c] = mux(c, [_byte(value) for value in rgb])
    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(output, name="hist", estimates={image: size, output: size})


def _byte(value: Expr) -> Expr:
    return cast(UInt8, clamp(value, 0.0, 255.0))


APP = App(
    "hist",
    "[S20]",
    "histogram equalisation, RGB",
    pipeline,
    picture=clipped,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S20]",
)
