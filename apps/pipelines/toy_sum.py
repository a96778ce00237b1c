"""Benchmark 3 of [TOY]: only writes to memory."""

from __future__ import annotations

import spaces
from spaces import Func, Pipeline, Var
from spaces.apps.app import App

SIZE = 2048


def pipeline() -> Pipeline:
    """The sum of the coordinates, in int32."""
    x, y = Var("x"), Var("y")
    f = Func("f")
    f[x, y] = x + y
    return spaces.pipeline(f, name="toy_sum", estimates={f: [SIZE, SIZE]})


APP = App("toy_sum", "[TOY]", "benchmark 3: x + y", pipeline, sized_by="[TOY]")
