"""Lens blur: the shallow depth of field of a large lens, computed from two views. One of the
pipelines that [S19], [S20] and [A21] schedule, with the parameters of Halide's app at the size of
[S19]. All differences are 1 GB of float32 at that size.

The depth of each pixel is the shift at which the views look alike. A convolution pyramid (Farbman,
Fattal and Lischinski, 2011) smooths their differences at all shifts where the picture is flat. Then
pixels are averaged over the aperture at random, as far as they are out of focus; the random numbers
differ from those of Halide's app.
"""

from __future__ import annotations

import numpy as np

import spaces
from spaces import (
    Expr,
    Float32,
    Func,
    ImageParam,
    Int32,
    Pipeline,
    RDom,
    UInt8,
    Var,
    abs,
    absd,
    argmin,
    cast,
    clamp,
    lerp,
    maximum,
    min,
    mux,
    random_float,
    select,
)
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, clipped
from spaces.apps.pipelines.edges import edges_repeated
from spaces.apps.pipelines.resampling import halved

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

SLICES = 32
"""The number of shifts, of two pixels each: one for each depth, the nearest first."""

FOCUS = 13
"""The depth that stays sharp."""

SPREAD = 0.5
"""The growth of the blur's radius, in pixels, with each step of depth out of focus."""

SAMPLES = 32
"""Samples of the aperture, for each pixel."""

LEVELS = 8
"""Levels of the pyramid."""


def pipeline(slices: int = SLICES, samples: int = SAMPLES, levels: int = LEVELS) -> Pipeline:
    """RGB of a left and a right view; the result is the left one, blurred, in [0, 1]. Outside, the
    views repeat their edge pixels.
    """
    x, y, z, c = Var("x"), Var("y"), Var("z"), Var("c")
    left, right = ImageParam(UInt8, 3, "left"), ImageParam(UInt8, 3, "right")
    cost = _cost(edges_repeated(left), edges_repeated(right), x, y, z)
    smooth = _smoothed(cost, left, slices, levels, x, y, z, c)

    depth, radius = Func("depth"), Func("radius")
    r = RDom([(0, slices)], name="slice")
    depth[x, y] = argmin(smooth[x, y, r], name="nearest")[0]
    radius[x, y] = cast(Float32, abs(depth[x, y] - FOCUS)) * SPREAD

    colored = Func("colored")
    view = edges_repeated(left)
    colors = [cast(Float32, view[x, y, i]) for i in range(CHANNELS)]
    colored[x, y, c] = mux(c, [*colors, 255.0])
    largest = int(max(slices - FOCUS, FOCUS) * SPREAD)
    blurred = _averaged(colored, depth, radius, largest, samples, x, y, z, c)

    output = Func("output")
    output[x, y, c] = blurred[x, y, c] / blurred[x, y, CHANNELS]
    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(
        output, name="lens_blur", estimates={left: size, right: size, output: size}
    )


def _cost(left: Func, right: Func, x: Expr, y: Expr, z: Expr) -> Func:
    """The differences of the views at a shift of two pixels for each slice, or one more."""
    c = Var("c")
    different, cost = Func("different"), Func("cost")
    one, other = (absd(left[x, y, c], right[x + 2 * z + odd, y, c]) for odd in (0, 1))
    different[x, y, z, c] = min(one, other)
    red, green, blue = (cast(Float32, different[x, y, z, i]) for i in range(CHANNELS))
    cost[x, y, z] = red * red + green * green + blue * blue
    return cost


def _smoothed(
    cost: Func, view: ImageParam, slices: int, levels: int, x: Expr, y: Expr, z: Expr, c: Expr
) -> Func:
    """The differences, those of flat surroundings replaced by those farther away: an average by
    weights that say how much the differences at a pixel vary.
    """
    r = RDom([(0, slices)], name="slice")
    squares, mean, confidence = Func("squares"), Func("mean"), Func("confidence")
    squares[x, y] = 0.0
    squares[x, y] += cost[x, y, r] * cost[x, y, r]
    mean[x, y] = 0.0
    mean[x, y] += cost[x, y, r] / float(slices)
    confidence[x, y] = squares[x, y] / float(slices) - mean[x, y] * mean[x, y]

    pushed = [Func("push_0")]
    weight = confidence[x, y]
    pushed[0][x, y, z, c] = mux(c, [cost[x, y, z] * weight, weight])
    width, height = view.extent(0), view.extent(1)
    for j in range(1, levels):
        width, height = width / 2, height / 2
        whole, edged = halved(pushed[-1], f"down_{j}", x, y, z, c), Func(f"push_{j}")
        inside_x, inside_y = clamp(x, 0, width - 1), clamp(y, 0, height - 1)
        edged[x, y, z, c] = whole[inside_x, inside_y, z, c]
        pushed.append(edged)

    pulled = pushed[-1]
    for j in reversed(range(levels - 1)):
        mixed = Func(f"pull_{j}")
        coarse = _doubled(pulled, f"pull_{j + 1}", x, y, z, c)
        mixed[x, y, z, c] = lerp(coarse[x, y, z, c], pushed[j][x, y, z, c], 0.5)
        pulled = mixed
    smooth = Func("smooth")
    smooth[x, y, z] = pulled[x, y, z, 0] / pulled[x, y, z, 1]
    return smooth


def _doubled(of: Func, name: str, x: Expr, y: Expr, *more: Expr) -> Func:
    """``of`` at twice the resolution: a quarter of the farther sample and three quarters of the
    nearer, in two passes.
    """
    across, result = Func(f"{name}_up_x"), Func(f"{name}_up")
    across[x, y, *more] = 0.25 * of[x / 2 - 1 + 2 * (x % 2), y, *more] + 0.75 * of[x / 2, y, *more]
    result[x, y, *more] = (
        0.25 * across[x, y / 2 - 1 + 2 * (y % 2), *more] + 0.75 * across[x, y / 2, *more]
    )
    return result


def _averaged(
    colored: Func, depth: Func, radius: Func, largest: int,
    samples: int, x: Expr, y: Expr, z: Expr, c: Expr,
) -> Func:  # fmt: skip
    """Colors, and 255, summed over random pixels around each: those whose blur reaches it."""
    r = RDom([(-largest, 2 * largest + 1)], name="around")
    worst_y, worst = Func("worst_y"), Func("worst")
    worst_y[x, y] = maximum(radius[x, y + r], name="highest_y")
    worst[x, y] = maximum(worst_y[x + r, y], name="highest")

    offset = Func("offset")
    steps = [(random_float(seed) - 0.5) * 2.0 * worst[x, y] for seed in (1, 2)]
    offset[x, y, z] = tuple(cast(Int32, step) for step in steps)

    weight = Func("weight")
    dx, dy = (clamp(step, -largest, largest) for step in offset[x, y, z])
    there = (x + dx, y + dy)
    squared = cast(Float32, dx * dx + dy * dy)
    reached_here = squared < radius[x, y] * radius[x, y]
    reaches = squared < radius[there] * radius[there]
    in_front = depth[there] < depth[x, y].as_expr()
    weight[x, y, z] = select((reached_here | in_front) & reaches, 1.0, 0.0)

    s = RDom([(0, samples)], name="s")
    blurred = Func("blurred")
    blurred[x, y, c] = colored[x, y, c]
    dx, dy = (clamp(step, -largest, largest) for step in offset[x, y, s])
    blurred[x, y, c] += weight[x, y, s] * colored[x + dx, y + dy, c]
    return blurred


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph as a left view of three planes, nearest at the bottom: the leaves, the raccoon
    within an ellipse, and all else behind them. Then the right view of the same scene.
    """
    height, width = photograph.shape[:2]
    y, x = np.mgrid[0:height, 0:width]
    far = np.full((height, width), 22)
    far[((x / width - 0.6) / 0.33) ** 2 + ((y / height - 0.35) / 0.42) ** 2 < 1] = FOCUS
    far[y > height * (0.62 + 0.3 * np.abs(x / width - 0.2))] = 4
    right = photograph.copy()
    for plane in sorted({*far.flat}, reverse=True):
        columns = np.clip(np.arange(width) - 2 * plane, 0, width - 1)
        seen = (far[:, columns] == plane) | (plane == far.max())
        right[seen] = photograph[:, columns][seen]
    planes = [np.moveaxis(view, 2, 0) for view in (photograph, right)]
    return {
        name: np.ascontiguousarray(p) for name, p in zip(("left", "right"), planes, strict=True)
    }


APP = App(
    "lens_blur",
    "[S19]",
    "shallow depth of field from two views",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S19]",
    shown_size=(512, 384),
)
