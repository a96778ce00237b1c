"""Pipelines that the GPU tests schedule."""

from __future__ import annotations

from collections.abc import Callable

from spaces.model.algorithm.boundary import mirror_image, repeat_edge
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.require import require
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.functions import clamp, select
from spaces.model.expressions.types import Float32, Int16, Int32, UInt8, UInt16

X, Y, C = Var("x"), Var("y"), Var("c")


def blur() -> Pipeline:
    """Means of three along x, then along y; no boundary condition."""
    image = ImageParam(UInt16, 2, "input")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[X, Y] = (image[X - 1, Y] + image[X, Y] + image[X + 1, Y]) / 3
    blur_y[X, Y] = (blur_x[X, Y - 1] + blur_x[X, Y] + blur_x[X, Y + 1]) / 3
    return pipeline(blur_y)


def three_stages() -> Pipeline:
    """Wide to narrow types, with mirrored edges; the last stage reads the first two."""
    image = ImageParam(UInt8, 2, "input")
    wide, slope, edges = Func("wide"), Func("slope"), Func("edges")
    bounded = mirror_image(image)
    wide[X, Y] = cast(Int16, bounded[X, Y]) * 3 - 200
    slope[X, Y] = wide[X + 1, Y] - wide[X - 1, Y] + (wide[X, Y] / 2) % 7
    total = slope[X, Y - 1] + 2 * slope[X, Y] + slope[X, Y + 1] + wide[X, Y]
    edges[X, Y] = cast(UInt8, clamp(total / 4, -100, 1000))
    return pipeline(edges)


def unsharp() -> Pipeline:
    """A picture of three channels plus its difference from a blurred gray; edges repeat."""
    image = ImageParam(Float32, 3, "input")
    bounded = repeat_edge(image)
    gray, down, across, output = (Func(n) for n in ("gray", "down", "across", "output"))
    gray[X, Y] = 0.3 * bounded[X, Y, 0] + 0.6 * bounded[X, Y, 1] + 0.1 * bounded[X, Y, 2]
    down[X, Y] = _weighted(lambda d: gray[X, Y + d])
    across[X, Y] = _weighted(lambda d: down[X + d, Y])
    ratio = (2 * gray[X, Y] - across[X, Y]) / (gray[X, Y] + 0.01)
    output[X, Y, C] = ratio * bounded[X, Y, C]
    return pipeline(output)


def _weighted(at: Callable[[int], Expr]) -> Expr:
    return 0.25 * (at(-2) + at(2)) + 0.5 * (at(-1) + at(1)) - 0.5 * at(0)


def products() -> Pipeline:
    """A matrix product with its sums in a separate Func, scaled by a parameter."""
    a, b = ImageParam(Int32, 2, "a"), ImageParam(Int32, 2, "b")
    scale = Param(Int32, "scale", 3)
    k = RDom([(0, a.width())], "k")
    sums, scaled = Func("sums"), Func("scaled")
    sums[X, Y] = X - Y
    sums[X, Y] += a[k, Y] * b[X, k]
    scaled[X, Y] = sums[X, Y] * scale
    return pipeline(scaled)


def histogram() -> Pipeline:
    """The count of each value, and running sums of the counts: updates that loops must not
    share.
    """
    image = ImageParam(UInt8, 2, "input")
    r = RDom([(0, image.width()), (0, image.height())], "r")
    counts, sums = Func("counts"), Func("sums")
    counts[X] = 0
    counts[cast(Int32, image[r.x, r.y]) % 16] += 1
    up = RDom([(1, 15)], "up")
    sums[X] = counts[X]
    sums[up] += sums[up - 1]
    return pipeline(sums)


def lookups() -> Pipeline:
    """A table that is read at coordinates from data, and a choice between two stages."""
    image = ImageParam(Int32, 2, "input")
    table, looked = Func("table"), Func("looked")
    table[X] = X * X - 3 * X
    index = clamp(image[X, Y] * 1000003, 0, 40)
    looked[X, Y] = select(image[X, Y] % 2 == 0, table[index], -table[40 - index])
    return pipeline(looked)


def promised_bytes() -> Pipeline:
    """Two promises about a byte and about a sum that wraps: as integers they contradict each
    other.
    """
    image, byte = ImageParam(Int32, 2, "image"), Param(UInt8, "byte", 100)
    copied, sums = Func("copied"), Func("sums")
    copied[X, Y] = image[X, Y]
    total = require(byte > 50, copied[X, Y] + copied[X + 1, Y], "too small")
    sums[X, Y] = require(byte + 200 < 100, total, "too large")
    return pipeline(sums)


def promised_tiles() -> Directives:
    """The threads of a tile share the copied values."""
    directives = schedule(promised_bytes()).gpu_tile("x", "y", "xi", "yi", 8, 8)
    copied = directives.func("copied").compute_at("sums", "x")
    return copied.gpu_threads("x", "y").store_in("gpu_shared")
