"""Benchmark 2 of [TOY]: a two-stage blur whose stages both run along x."""

from __future__ import annotations

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.app import App
from spaces.apps.pictures import clipped

SIZE = 2048


def pipeline() -> Pipeline:
    """The mean of three neighbors along x, twice, in float32.

    The paper's second stage reads neighbors in x too, and its peak heap of 16400 bytes (one line
    of 2050 values) agrees; the mean, which its formulas print without parentheses, is meant.
    The output is two pixels smaller than the image on the left and on the right.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "input")

    blur_x = Func("blur_x")
    blur_x[x, y] = (image[x - 1, y] + image[x, y] + image[x + 1, y]) / 3

    blur_y = Func("blur_y")
    blur_y[x, y] = (blur_x[x - 1, y] + blur_x[x, y] + blur_x[x + 1, y]) / 3

    return spaces.pipeline(
        blur_y, name="toy_blur", estimates={image: [SIZE + 4, SIZE], blur_y: [(2, SIZE), (0, SIZE)]}
    )


APP = App(
    "toy_blur",
    "[TOY]",
    "benchmark 2: two means along x",
    pipeline,
    picture=clipped,
    paper_size=(SIZE + 4, SIZE),
    sized_by="[TOY]",
)
