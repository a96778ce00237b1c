"""A camera's pipeline from the raw mosaic to a picture, as [RK13], [S19] and [A21] schedule it.

After Adams et al., "The Frankencamera", 2010: hot pixels, demosaicking, colors, a tone curve,
sharpening. The mosaic repeats green-red over blue-green. The values are those of Halide's app.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

import spaces
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
    absd,
    cast,
    clamp,
    max,
    mux,
    pow,
    rounding_halving_add,
    saturating_cast,
    select,
)
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, clipped
from spaces.model.expressions.expr import Arithmetic, Expr, ExprLike

Pixel: TypeAlias = tuple[Arithmetic, Arithmetic]

WIDTH, HEIGHT = 2560, 1936

MARGIN_X, MARGIN_Y = 16, 12
"""Pixels of the mosaic outside the picture, on each side."""

WHITE, BLACK = 1023, 25
"""The default raw levels that become white and black."""

WARM = ((1.6697, -0.2693, -0.4004, -42.4346), (-0.3576, 1.0615, 1.5949, -37.1158),
        (-0.2175, -1.8751, 6.9640, -26.6970))  # fmt: skip
"""Camera colors to sRGB, and an offset, at 3200 K."""

COLD = ((2.2997, -0.4478, 0.1706, -39.0923), (-0.3826, 1.5906, -0.2080, -25.4311),
        (-0.0888, -0.7344, 2.2832, -20.0826))  # fmt: skip
"""Camera colors to sRGB, and an offset, at 7000 K."""

TEMPERATURE = 3700.0
"""The default temperature of the light, in Kelvin."""


def pipeline() -> Pipeline:
    """A 10-bit mosaic to 8-bit RGB; light, gamma, contrast, sharpness and the levels of black and
    white are scalar parameters.

    ``matrix_3200`` and ``matrix_7000`` are (column, row): they take camera colors, and 1, to sRGB.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    raw = ImageParam(UInt16, 2, "input")
    temperature = Param(Float32, "temperature", TEMPERATURE)
    gamma = Param(Float32, "gamma", 2.0)
    contrast = Param(Float32, "contrast", 50.0)
    sharpness = Param(Float32, "sharpness", 1.0)
    black, white = Param(Int32, "black_level", BLACK), Param(Int32, "white_level", WHITE)
    matrices = ImageParam(Float32, 2, "matrix_3200"), ImageParam(Float32, 2, "matrix_7000")

    denoised = Func("denoised")
    around = [
        raw[x + MARGIN_X + dx, y + MARGIN_Y + dy] for dx, dy in ((-2, 0), (2, 0), (0, -2), (0, 2))
    ]
    denoised[x, y] = clamp(raw[x + MARGIN_X, y + MARGIN_Y], 0, max(*around))

    quarter = Func("quarter")
    quarter[x, y, c] = mux(c, [denoised[2 * x + i, 2 * y + j] for j in (0, 1) for i in (0, 1)])
    demosaicked = _demosaic(quarter, x, y, c)
    corrected = _correct(demosaicked, temperature, *matrices, x, y, c)
    curved = _curve(corrected, gamma, contrast, black, white, x, y, c)
    output = _sharpen(curved, sharpness, x, y, c)
    return spaces.pipeline(
        output,
        name="camera_pipe",
        estimates={
            raw: [WIDTH + 2 * MARGIN_X, HEIGHT + 2 * MARGIN_Y],
            matrices[0]: [4, 3],
            matrices[1]: [4, 3],
            output: [WIDTH, HEIGHT, 3],
        },
    )


def _demosaic(quarter: Func, x: Expr, y: Expr, c: Expr) -> Func:
    """All three colors at each pixel: green where gradients are least, then red and blue by how
    they differ from green nearby.
    """
    green_r, red, blue, green_b = (Func(n) for n in ("green_r", "red", "blue", "green_b"))
    for index, part in enumerate((green_r, red, blue, green_b)):
        part[x, y] = quarter[x, y, index]

    green_at_red, green_at_blue = Func("green_at_red"), Func("green_at_blue")
    here, above, beside = green_b[x, y], green_b[x, y - 1], green_r[x + 1, y]
    green_at_red[x, y] = _smoother(above, here, beside, green_r[x, y])
    here, below, beside = green_r[x, y], green_r[x, y + 1], green_b[x - 1, y]
    green_at_blue[x, y] = _smoother(below, here, beside, green_b[x, y])

    names = ("red_at_gr", "blue_at_gr", "red_at_gb", "blue_at_gb", "red_at_blue", "blue_at_red")
    red_at_gr, blue_at_gr, red_at_gb, blue_at_gb, red_at_blue, blue_at_red = map(Func, names)
    at, left, up, right, down = (x, y), (x - 1, y), (x, y - 1), (x + 1, y), (x, y + 1)
    red_at_gr[at] = _like(green_r, green_at_red, red, at, at, left)
    blue_at_gr[at] = _like(green_r, green_at_blue, blue, at, at, up)
    red_at_gb[at] = _like(green_b, green_at_red, red, at, at, down)
    blue_at_gb[at] = _like(green_b, green_at_blue, blue, at, at, right)
    red_at_blue[x, y] = _diagonal(green_at_blue, green_at_red, red, x, y, 1)
    blue_at_red[x, y] = _diagonal(green_at_red, green_at_blue, blue, x, y, -1)

    result = Func("demosaicked")
    even_x, even_y = (x % 2).as_expr() == 0, (y % 2).as_expr() == 0
    cell = (x / 2, y / 2)

    def woven(gr: Func, r: Func, b: Func, gb: Func) -> Expr:
        return select(even_y, select(even_x, gr[cell], r[cell]), select(even_x, b[cell], gb[cell]))

    colors = (
        woven(red_at_gr, red, red_at_blue, red_at_gb),
        woven(green_r, green_at_red, green_at_blue, green_b),
        woven(blue_at_gr, blue_at_red, blue, blue_at_gb),
    )
    # A correction may go below 0, where uint16 wraps; a signed type reads the right value.
    result[x, y, c] = cast(Int16, mux(c, colors))
    return result


def _smoother(above: ExprLike, below: ExprLike, right: ExprLike, left: ExprLike) -> Expr:
    """The mean of the two neighbors in a row if they differ less than those in a column, else the
    mean of the latter.
    """
    return select(
        absd(right, left) < absd(above, below),
        rounding_halving_add(right, left),
        rounding_halving_add(above, below),
    )


def _like(green: Func, other_green: Func, color: Func, at: Pixel, a: Pixel, b: Pixel) -> Expr:
    """The mean of a color at two pixels, plus by how much the green at ``at`` is more than the mean
    of theirs.
    """
    apart = green[at] - rounding_halving_add(other_green[a], other_green[b])
    return apart + rounding_halving_add(color[a], color[b])


def _diagonal(green: Func, other_green: Func, color: Func, x: Expr, y: Expr, step: int) -> Expr:
    """A color at the pixel of the opposite one, along the diagonal with the smaller gradient;
    ``step`` is 1 at blue pixels and -1 at red ones.
    """
    falling = (x, y), (x - step, y + step)
    rising = (x - step, y), (x, y + step)
    gradients = [absd(color[a], color[b]) for a, b in (falling, rising)]
    means = [_like(green, other_green, color, (x, y), *ends) for ends in (falling, rising)]
    return select(gradients[0] < gradients[1], *means)


def _correct(
    of: Func, temperature: Param, warm: ImageParam, cold: ImageParam, x: Expr, y: Expr, c: Expr
) -> Func:
    """To sRGB by a mixture of two matrices, in 1/256.

    The weights are those of Halide's app: light of 3200 K takes only the matrix of 7000 K, and
    light of 7000 K only that of 3200 K.
    """
    matrix, column, row = Func("matrix"), Var("column"), Var("row")
    weight = _weight_of_warm(temperature)
    mixed = warm[column, row] * weight + cold[column, row] * (1.0 - weight)
    matrix[column, row] = cast(Int16, mixed * 256.0)
    result = Func("corrected")
    red, green, blue = (cast(Int32, of[x, y, i]) for i in range(3))
    totals = [
        matrix[3, i] + matrix[0, i] * red + matrix[1, i] * green + matrix[2, i] * blue
        for i in range(3)
    ]
    result[x, y, c] = mux(c, [cast(Int16, total / 256) for total in totals])
    return result


def _weight_of_warm(temperature: Param) -> Expr:
    """0 at 3200 K, 1 at 7000 K, linear in the inverse; constants are rounded to float32 first."""
    low, high = (np.float32(1) / np.float32(kelvin) for kelvin in (3200, 7000))
    return (1.0 / temperature - float(low)) / float(high - low)


def _curve(
    of: Func, gamma: Param, contrast: Param, black: Param, white: Param, x: Expr, y: Expr, c: Expr
) -> Func:
    """10 bits to 8 by a table: black and white points, gamma, and an S for contrast."""
    curve = Func("curve")
    part = clamp(cast(Float32, x - black) * (1.0 / cast(Float32, white - black)), 0.0, 1.0)
    lifted = pow(part, 1.0 / gamma)
    linear = 2.0 - pow(2.0, contrast / 100.0)
    square = 2.0 - 2.0 * linear
    dark = square * lifted * lifted + linear * lifted
    bright = 1.0 - (square * (1.0 - lifted) * (1.0 - lifted) + linear * (1.0 - lifted))
    value = cast(UInt8, clamp(select(lifted > 0.5, bright, dark) * 255.0 + 0.5, 0.0, 255.0))
    curve[x] = select(x <= black, 0, select(x > white, 255, value))
    result = Func("curved")
    result[x, y, c] = curve[clamp(cast(Int32, of[x, y, c]), 0, 1023)]
    return result


def _sharpen(of: Func, sharpness: Param, x: Expr, y: Expr, c: Expr) -> Func:
    """The picture plus ``sharpness`` times its difference from its 3x3 blur."""
    strength = Func("strength")
    strength[()] = saturating_cast(UInt8, sharpness * 32.0)
    along, blurred = Func("blurred_y"), Func("blurred")
    along[x, y, c] = _smooth(of[x, y - 1, c], of[x, y, c], of[x, y + 1, c])
    blurred[x, y, c] = _smooth(along[x - 1, y, c], along[x, y, c], along[x + 1, y, c])
    mask = cast(Int16, of[x, y, c]) - cast(Int16, blurred[x, y, c])
    output = Func("output")
    output[x, y, c] = saturating_cast(UInt8, of[x, y, c] + mask * strength[()] / 32)
    return output


def _smooth(a: ExprLike, b: ExprLike, c: ExprLike) -> Expr:
    """Weights 1 2 1 of 8-bit numbers; both halvings round up."""
    return rounding_halving_add(rounding_halving_add(a, c), b)


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph as a sensor sees it: linear light in the camera's own colors, one color
    for each pixel, between the levels of black and white.
    """
    weight = (1 / TEMPERATURE - 1 / 3200) / (1 / 7000 - 1 / 3200)
    matrix = np.array(WARM) * weight + np.array(COLD) * (1 - weight)
    linear = (photograph / 255.0) ** 2 * (WHITE - BLACK) + BLACK
    camera = (linear - matrix[:, 3]) @ np.linalg.inv(matrix[:, :3]).T
    red, green, blue = np.moveaxis(np.clip(np.round(camera), 0, WHITE), 2, 0)
    raw = green.astype(np.uint16)
    raw[0::2, 1::2] = red[0::2, 1::2]
    raw[1::2, 0::2] = blue[1::2, 0::2]
    return {
        "input": raw,
        "matrix_3200": np.array(WARM, np.float32),
        "matrix_7000": np.array(COLD, np.float32),
    }


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
