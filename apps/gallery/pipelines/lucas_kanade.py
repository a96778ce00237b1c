"""One step of optical flow by Lucas and Kanade."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1024, 768
SIDE = 5
DAMPING = 0.01


def pipeline() -> Pipeline:
    """Gradients in space and time, sums of their products over 5x5, and the solution of two
    equations at each pixel.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    before, after = ImageParam(Float32, 2, "before"), ImageParam(Float32, 2, "after")
    dx, dy, dt = Func("dx"), Func("dy"), Func("dt")
    dx[x, y] = (before[x + 2, y + 1] - before[x, y + 1]) * 0.5
    dy[x, y] = (before[x + 1, y + 2] - before[x + 1, y]) * 0.5
    dt[x, y] = after[x + 1, y + 1] - before[x + 1, y + 1]
    r = RDom([(0, SIDE), (0, SIDE)], "r")

    def total(a: Func, b: Func, name: str) -> Func:
        sums = Func(name)
        sums[x, y] = 0.0
        sums[x, y] += a[x + r.x, y + r.y] * b[x + r.x, y + r.y]
        return sums

    xx, xy, yy = total(dx, dx, "xx"), total(dx, dy, "xy"), total(dy, dy, "yy")
    xt, yt = total(dx, dt, "xt"), total(dy, dt, "yt")
    flow = Func("flow")
    a, b, d = xx[x, y] + DAMPING, xy[x, y], yy[x, y] + DAMPING
    across = b * yt[x, y] - d * xt[x, y]
    down = b * xt[x, y] - a * yt[x, y]
    flow[x, y, c] = mux(c, [across, down]) / (a * d - b * b)
    around = [WIDTH + SIDE + 1, HEIGHT + SIDE + 1]
    return spaces.pipeline(
        flow,
        name="lucas_kanade",
        estimates={before: around, after: around, flow: [WIDTH, HEIGHT, 2]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows."""
    before, after = (inputs[name].astype(np.float64) for name in ("before", "after"))
    dx = (before[1:-1, 2:] - before[1:-1, :-2]) / 2
    dy = (before[2:, 1:-1] - before[:-2, 1:-1]) / 2
    dt = (after - before)[1:-1, 1:-1]

    def total(a: Array, b: Array) -> Array:
        sums: Array = sliding_window_view(a * b, (SIDE, SIDE)).sum((2, 3))
        return sums

    a, b, d = total(dx, dx) + DAMPING, total(dx, dy), total(dy, dy) + DAMPING
    xt, yt = total(dx, dt), total(dy, dt)
    flow: Array = np.stack([b * yt - d * xt, b * xt - a * yt]) / (a * d - b * b)
    return flow


GALLERY_PIPELINE = GalleryPipeline(
    name="lucas_kanade",
    kind=PipelineKind.MATCHING,
    summary="optical flow by gradients in windows of 5x5, float32",
    pipeline=pipeline,
    expected=expected,
    small={"before": (43, 29), "after": (43, 29), "flow": (37, 23, 2)},
    tolerance=2e-5,
)
