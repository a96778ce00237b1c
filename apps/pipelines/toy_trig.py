"""Benchmark 1 of [TOY]: a costly producer that four pixels of its consumer share."""

from __future__ import annotations

import numpy as np

import spaces
from spaces import Func, Pipeline, Var, cos, sin, sqrt
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, stretched

SIZE = 2048

SHOWN, ENLARGED = 128, 6
"""The number of values along each side of a picture, and the width of each in pixels."""


def pipeline() -> Pipeline:
    """Sums of 2x2 values of ``sqrt(cos x + sin y)``, in float32.

    Where the radicand is negative the result is NaN, as in the paper.
    """
    x, y = Var("x"), Var("y")

    g = Func("g")
    g[x, y] = sqrt(cos(x) + sin(y))

    f = Func("f")
    f[x, y] = g[x + 1, y] + g[x, y] + g[x + 1, y + 1] + g[x, y + 1]

    return spaces.pipeline(f, name="toy_trig", estimates={f: [SIZE, SIZE]})


def _picture(output: Array) -> Photograph:
    """An enlarged corner: two waves of a length near 6 pixels; NaN is black."""
    return np.kron(stretched(output[:SHOWN, :SHOWN]), np.ones((ENLARGED, ENLARGED), np.uint8))


APP = App(
    "toy_trig",
    "[TOY]",
    "benchmark 1: 2x2 sums of square roots",
    pipeline,
    picture=_picture,
    sized_by="[TOY]",
)
