"""Benchmark 1 of [TOY]: a costly producer that four pixels of its consumer share."""

from __future__ import annotations

from spaces.model.freeze import pipeline as freeze
from spaces.model.func import Func, Var
from spaces.model.functions import cos, sin, sqrt
from spaces.model.pipeline import Pipeline

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

    return freeze(f, name="toy_trig", estimates={f: [SIZE, SIZE]})
