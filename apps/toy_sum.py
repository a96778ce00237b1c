"""Benchmark 3 of [TOY]: nothing but writing to memory."""

from __future__ import annotations

from spaces.model.freeze import pipeline as freeze
from spaces.model.func import Func, Var
from spaces.model.pipeline import Pipeline

SIZE = 2048


def pipeline() -> Pipeline:
    """The sum of the coordinates, in int32."""
    x, y = Var("x"), Var("y")
    f = Func("f")
    f[x, y] = x + y
    return freeze(f, name="toy_sum", estimates={f: [SIZE, SIZE]})
