"""Benchmark 1 of [TOY]: a costly producer that four pixels of its consumer share."""

from __future__ import annotations

import spaces
from apps.app import App
from spaces import Func, Pipeline, Var, cos, sin, sqrt

SIZE = 2048


def pipeline() -> Pipeline:
    """Sums of 2x2 values of ``sqrt(cos x + sin y)``, in float32.

    Where the radicand is negative there is no number, as in the paper.
    """
    x, y = Var("x"), Var("y")

    g = Func("g")
    g[x, y] = sqrt(cos(x) + sin(y))

    f = Func("f")
    f[x, y] = g[x + 1, y] + g[x, y] + g[x + 1, y + 1] + g[x, y + 1]

    return spaces.pipeline(f, name="toy_trig", estimates={f: [SIZE, SIZE]})


APP = App(
    "toy_trig",
    "[TOY]",
    "benchmark 1: 2x2 sums of square roots",
    pipeline,
    sized_by="[TOY]",
)
