"""The two-pass 3x3 box blur: the running example of [RK13] (section 3.1) and [S19] (Fig. 1)."""

from __future__ import annotations

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var
from spaces.apps.app import App
from spaces.apps.pictures import clipped

WIDTH, HEIGHT = 6400, 4800


def pipeline() -> Pipeline:
    """Mean of three along x, then of three along y, in uint16 as Halide's app of that name, whose
    output begins one pixel further left and up.

    There is no boundary condition: the output is one pixel smaller than the image on each side.
    Sums wrap at 65536, so that values up to 21845 are exact.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")

    blur_x = Func("blur_x")
    blur_x[x, y] = (image[x - 1, y] + image[x, y] + image[x + 1, y]) / 3

    blur_y = Func("blur_y")
    blur_y[x, y] = (blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]) / 3

    return spaces.pipeline(
        blur_y,
        name="blur",
        estimates={image: [(0, WIDTH + 2), (0, HEIGHT + 2)], blur_y: [(1, WIDTH), (1, HEIGHT)]},
    )


APP = App(
    "blur",
    "[RK13]",
    "3x3 box blur in two passes, uint16",
    pipeline,
    picture=clipped,
    paper_size=(WIDTH + 2, HEIGHT + 2),
    sized_by="[S19]",
)
