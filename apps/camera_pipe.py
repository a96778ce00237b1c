"""A camera's pipeline from the raw mosaic to a picture, as [RK13], [S19] and [A21] schedule it.

After Adams et al., "The Frankencamera", 2010: hot pixels, demosaicking, colors, a tone curve,
sharpening. The mosaic repeats green-red over blue-green.
"""

from __future__ import annotations

import numpy as np

import spaces
from apps.app import App
from apps.pictures import Array, Photograph, clipped
from spaces import (
    Float32,
    Func,
    ImageParam,
    Int16,
    Int32,
    Param,
    Pipeline,
    UInt8,
    UInt16,
    Var,
    cast,
    clamp,
    max,
    min,
    pow,
    select,
)
from spaces.model.expressions.expr import Expr, ExprLike

WIDTH, HEIGHT = 2560, 1936

MARGIN_X, MARGIN_Y = 16, 12
"""Pixels of the mosaic outside the picture, on each side."""

WHITE, BLACK = 1023, 25
"""Raw levels that become white and black."""

WARM = ((1.6697, -0.2693, -0.4004, -42.4346), (-0.3576, 1.0615, 1.5949, -37.1158),
        (-0.2175, -1.8751, 6.9640, -26.6970))  # fmt: skip
"""Camera colors to sRGB, and an offset, at 3200 K."""

COLD = ((2.2997, -0.4478, 0.1706, -39.0923), (-0.3826, 1.5906, -0.2080, -25.4311),
        (-0.0888, -0.7344, 2.2832, -20.0826))  # fmt: skip
"""The same at 7000 K."""


TEMPERATURE = 3700.0
"""Of the light, in Kelvin, unless another is given."""


def pipeline() -> Pipeline:
    """A 10-bit mosaic to 8-bit RGB; light, gamma, contrast and sharpness are scalar parameters."""
    x, y, c = Var("x"), Var("y"), Var("c")
    raw = ImageParam(UInt16, 2, "input")
    temperature = Param(Float32, "temperature", TEMPERATURE)
    gamma = Param(Float32, "gamma", 2.0)
    contrast = Param(Float32, "contrast", 50.0)
    sharpness = Param(Float32, "sharpness", 1.0)

    denoised = Func("denoised")
    here = _signed(raw, x + MARGIN_X, y + MARGIN_Y)
    around = [
        _signed(raw, x + MARGIN_X + dx, y + MARGIN_Y + dy)
        for dx, dy in ((-2, 0), (2, 0), (0, -2), (0, 2))
    ]
    denoised[x, y] = clamp(here, 0, max(*around))

    quarter = Func("quarter")
    quarter[x, y, c] = select(
        (c % 4).as_expr() == 0,
        denoised[2 * x, 2 * y],
        select(
            c == 1,
            denoised[2 * x + 1, 2 * y],
            select(c == 2, denoised[2 * x, 2 * y + 1], denoised[2 * x + 1, 2 * y + 1]),
        ),
    )
    demosaicked = _demosaic(quarter, x, y, c)
    corrected = _correct(demosaicked, temperature, x, y, c)
    curved = _curve(corrected, gamma, contrast, x, y, c)
    output = _sharpen(curved, sharpness, x, y, c)
    return spaces.pipeline(
        output,
        name="camera_pipe",
        estimates={
            raw: [WIDTH + 2 * MARGIN_X, HEIGHT + 2 * MARGIN_Y],
            output: [WIDTH, HEIGHT, 3],
        },
    )


def _signed(raw: ImageParam, x: ExprLike, y: ExprLike) -> Expr:
    return cast(Int16, raw[x, y])


def _mean(a: ExprLike, b: ExprLike) -> Expr:
    """The mean of two 16-bit numbers, halves rounded up."""
    return cast(Int16, (cast(Int32, a) + cast(Int32, b) + 1) / 2)


def _apart(a: Expr, b: Expr) -> Expr:
    """The distance of two numbers."""
    return max(a, b) - min(a, b)


def _demosaic(quarter: Func, x: Var, y: Var, c: Var) -> Func:
    """All three colors at each pixel: green where gradients are least, then red and blue by how
    they differ from green nearby.
    """
    green_r, red, blue, green_b = (Func(n) for n in ("green_r", "red", "blue", "green_b"))
    for index, part in enumerate((green_r, red, blue, green_b)):
        part[x, y] = quarter[x, y, index]

    green_at_red, green_at_blue = Func("green_at_red"), Func("green_at_blue")
    up, across = _mean(green_b[x, y - 1], green_b[x, y]), _mean(green_r[x + 1, y], green_r[x, y])
    steep, wide = (
        _apart(green_b[x, y - 1].as_expr(), green_b[x, y].as_expr()),
        _apart(green_r[x + 1, y].as_expr(), green_r[x, y].as_expr()),
    )
    green_at_red[x, y] = select(wide < steep, across, up)
    up, across = _mean(green_r[x, y + 1], green_r[x, y]), _mean(green_b[x - 1, y], green_b[x, y])
    steep, wide = (
        _apart(green_r[x, y + 1].as_expr(), green_r[x, y].as_expr()),
        _apart(green_b[x - 1, y].as_expr(), green_b[x, y].as_expr()),
    )
    green_at_blue[x, y] = select(wide < steep, across, up)

    names = ("red_at_gr", "blue_at_gr", "red_at_gb", "blue_at_gb", "red_at_blue", "blue_at_red")
    red_at_gr, blue_at_gr, red_at_gb, blue_at_gb, red_at_blue, blue_at_red = map(Func, names)
    red_at_gr[x, y] = (
        green_r[x, y]
        - _mean(green_at_red[x, y], green_at_red[x - 1, y])
        + _mean(red[x - 1, y], red[x, y])
    )
    blue_at_gr[x, y] = (
        green_r[x, y]
        - _mean(green_at_blue[x, y], green_at_blue[x, y - 1])
        + _mean(blue[x, y], blue[x, y - 1])
    )
    red_at_gb[x, y] = (
        green_b[x, y]
        - _mean(green_at_red[x, y], green_at_red[x, y + 1])
        + _mean(red[x, y], red[x, y + 1])
    )
    blue_at_gb[x, y] = (
        green_b[x, y]
        - _mean(green_at_blue[x, y], green_at_blue[x + 1, y])
        + _mean(blue[x, y], blue[x + 1, y])
    )
    red_at_blue[x, y] = _diagonal(green_at_blue, green_at_red, red, x, y, 1)
    blue_at_red[x, y] = _diagonal(green_at_red, green_at_blue, blue, x, y, -1)

    result = Func("demosaicked")
    even_x, even_y = (x % 2).as_expr() == 0, (y % 2).as_expr() == 0
    at = (x / 2, y / 2)

    def woven(gr: Func, r: Func, b: Func, gb: Func) -> Expr:
        return select(even_y, select(even_x, gr[at], r[at]), select(even_x, b[at], gb[at]))

    result[x, y, c] = select(
        c == 0,
        woven(red_at_gr, red, red_at_blue, red_at_gb),
        select(
            c == 1,
            woven(green_r, green_at_red, green_at_blue, green_b),
            woven(blue_at_gr, blue_at_red, blue, blue_at_gb),
        ),
    )
    return result


def _diagonal(green: Func, other_green: Func, color: Func, x: Var, y: Var, step: int) -> Expr:
    """A color at the pixel of the opposite one, along the diagonal with the smaller gradient;
    ``step`` is 1 at blue pixels and -1 at red ones.
    """
    a, b = (x, y), (x - step, y + step)
    d, e = (x - step, y), (x, y + step)
    down = green[x, y] - _mean(other_green[a], other_green[b]) + _mean(color[a], color[b])
    up = green[x, y] - _mean(other_green[d], other_green[e]) + _mean(color[d], color[e])
    falls = _apart(color[a].as_expr(), color[b].as_expr())
    rises = _apart(color[d].as_expr(), color[e].as_expr())
    return select(falls < rises, down, up)


def _correct(of: Func, temperature: Param, x: Var, y: Var, c: Var) -> Func:
    """To sRGB by a matrix between that of warm and that of cold light, in 1/256."""
    weight = (1.0 / temperature - 1.0 / 3200.0) / (1.0 / 7000.0 - 1.0 / 3200.0)
    matrix, column = Func("matrix"), Var("column")

    def blended(row: int) -> Expr:
        parts = [
            cast(Int16, (warm * (1.0 - weight) + cold * weight) * 256.0)
            for warm, cold in zip(WARM[row], COLD[row], strict=True)
        ]
        result = parts[3]
        for i in (2, 1, 0):
            result = select(column == i, parts[i], result)
        return result

    matrix[column, y] = select(y == 0, blended(0), select(y == 1, blended(1), blended(2)))
    result = Func("corrected")
    red, green, blue = (cast(Int32, of[x, y, i]) for i in range(3))
    total = matrix[3, c] + matrix[0, c] * red + matrix[1, c] * green + matrix[2, c] * blue
    result[x, y, c] = cast(Int16, total / 256)
    return result


def _curve(of: Func, gamma: Param, contrast: Param, x: Var, y: Var, c: Var) -> Func:
    """10 bits to 8 by a table: black and white points, gamma, and an S for contrast."""
    curve = Func("curve")
    part = clamp((cast(Float32, x) - BLACK) / float(WHITE - BLACK), 0.0, 1.0)
    lifted = pow(part, 1.0 / gamma)
    linear = 2.0 - pow(2.0, contrast / 100.0)
    square = 2.0 - 2.0 * linear
    dark = square * lifted * lifted + linear * lifted
    bright = 1.0 - (square * (1.0 - lifted) * (1.0 - lifted) + linear * (1.0 - lifted))
    curve[x] = cast(UInt8, clamp(select(lifted > 0.5, bright, dark) * 255.0 + 0.5, 0.0, 255.0))
    result = Func("curved")
    result[x, y, c] = curve[clamp(cast(Int32, of[x, y, c]), 0, 1023)]
    return result


def _sharpen(of: Func, sharpness: Param, x: Var, y: Var, c: Var) -> Func:
    """The picture plus ``sharpness`` times what a 3x3 blur takes from it."""
    along, blurred = Func("blurred_y"), Func("blurred")
    along[x, y, c] = _smooth(of[x, y - 1, c], of[x, y, c], of[x, y + 1, c])
    blurred[x, y, c] = _smooth(along[x - 1, y, c], along[x, y, c], along[x + 1, y, c])
    mask = cast(Int16, of[x, y, c]) - cast(Int16, blurred[x, y, c])
    strength = cast(Int16, clamp(sharpness * 32.0, 0.0, 255.0))
    output = Func("output")
    raised = cast(Int16, of[x, y, c]) + mask * strength / 32
    output[x, y, c] = cast(UInt8, clamp(raised, 0, 255))
    return output


def _smooth(a: ExprLike, b: ExprLike, c: ExprLike) -> Expr:
    """Weights 1 2 1 of 8-bit numbers."""
    total = cast(UInt16, a) + 2 * cast(UInt16, b) + cast(UInt16, c)
    return cast(UInt8, total / 4)


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph as a sensor sees it: linear light in the camera's own colors, of which each
    pixel has one, between the levels of black and white.
    """
    weight = (1 / TEMPERATURE - 1 / 3200) / (1 / 7000 - 1 / 3200)
    matrix = np.array(WARM) * (1 - weight) + np.array(COLD) * weight
    linear = (photograph / 255.0) ** 2 * (WHITE - BLACK) + BLACK
    camera = (linear - matrix[:, 3]) @ np.linalg.inv(matrix[:, :3]).T
    red, green, blue = np.moveaxis(np.clip(np.round(camera), 0, WHITE), 2, 0)
    raw = green.astype(np.uint16)
    raw[0::2, 1::2] = red[0::2, 1::2]
    raw[1::2, 0::2] = blue[1::2, 0::2]
    return {"input": raw}


APP = App(
    "camera_pipe",
    "[RK13]",
    "raw mosaic to a picture: demosaicking, color, tone, sharpening",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    paper_size=(WIDTH + 2 * MARGIN_X, HEIGHT + 2 * MARGIN_Y),
    sized_by="[S19]",
)
