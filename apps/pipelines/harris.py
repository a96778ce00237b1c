"""Harris corners: one of the pipelines that [S19], [S20] and [A21] schedule."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import spaces
from spaces import Expr, Float32, Func, ImageParam, Param, Pipeline, Var
from spaces.apps.app import App
from spaces.apps.pictures import compressed
from spaces.model.expressions.expr import Arithmetic

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

SENSITIVITY = 0.04
"""Weight of the squared trace in the response (Harris and Stephens, 1988)."""

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the gray value (ITU-R BT.601)."""

_SOBEL = ((-1, -1, -1), (-1, 1, 1), (0, -1, -2), (0, 1, 2), (1, -1, -1), (1, 1, 1))
"""Taps of the Sobel filter along the second axis: offset across, offset along, twelfths."""


def pipeline() -> Pipeline:
    """RGB to gray, Sobel gradients, their products summed over 3x3 pixels, and the response
    ``det - k * trace**2``: positive at corners, negative on edges.

    There is no boundary condition: the output is two pixels smaller than the image on each side.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 3, "input")
    k = Param(Float32, "k", SENSITIVITY)

    gray = Func("gray")
    red, green, blue = LUMA
    gray[x, y] = red * image[x, y, 0] + green * image[x, y, 1] + blue * image[x, y, 2]

    iy, ix = Func("iy"), Func("ix")
    iy[x, y] = _sum([gray[x + across, y + along] * (n / 12) for across, along, n in _SOBEL])
    ix[x, y] = _sum([gray[x + along, y + across] * (n / 12) for across, along, n in _SOBEL])

    ixx, iyy, ixy = Func("ixx"), Func("iyy"), Func("ixy")
    ixx[x, y] = ix[x, y] * ix[x, y]
    iyy[x, y] = iy[x, y] * iy[x, y]
    ixy[x, y] = ix[x, y] * iy[x, y]

    sxx, syy, sxy = Func("sxx"), Func("syy"), Func("sxy")
    for total, product in ((sxx, ixx), (syy, iyy), (sxy, ixy)):
        total[x, y] = _sum([product[x + dx, y + dy] for dx in (-1, 0, 1) for dy in (-1, 0, 1)])

    det, trace = Func("det"), Func("trace")
    det[x, y] = sxx[x, y] * syy[x, y] - sxy[x, y] * sxy[x, y]
    trace[x, y] = sxx[x, y] + syy[x, y]

    corners = Func("corners")
    corners[x, y] = det[x, y] - k * trace[x, y] * trace[x, y]

    return spaces.pipeline(
        corners,
        name="harris",
        estimates={image: [WIDTH + 4, HEIGHT + 4, CHANNELS], corners: [(2, WIDTH), (2, HEIGHT)]},
    )


def _sum(terms: Sequence[Arithmetic]) -> Expr:
    return functools.reduce(operator.add, terms).as_expr()


APP = App(
    "harris",
    "[S20]",
    "Harris corner response",
    pipeline,
    picture=compressed,
    paper_size=(WIDTH + 4, HEIGHT + 4),
    sized_by="[S20]",
)
