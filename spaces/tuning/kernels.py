"""Small pipelines that machines are calibrated with: each stresses something else."""

from __future__ import annotations

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.functions import clamp, exp, log
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16

WIDTH, HEIGHT = 1536, 1024


def stencil() -> Pipeline:
    """Two stages of whole numbers that read neighbours: windows that slide, and recomputation."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "image")
    rows, out = Func("rows"), Func("stencil")
    rows[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) / 3
    out[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) / 3
    return pipeline(out, estimates={out: [WIDTH, HEIGHT], image: [WIDTH + 2, HEIGHT + 2]})


def chain() -> Pipeline:
    """Four stages of floats with five taps: more data than the inner caches hold."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    before: Expr = image[x, y] * 0.5
    stages = [Func(f"level{number}") for number in range(3)] + [Func("chain")]
    for number, func in enumerate(stages):
        func[x, y] = before
        first, *others = (func[x, y + k] if number % 2 else func[x + k, y] for k in range(5))
        before = sum(others, start=first) * 0.2
    return pipeline(
        stages[-1], estimates={stages[-1]: [WIDTH, HEIGHT], image: [WIDTH + 8, HEIGHT + 8]}
    )


def pointwise() -> Pipeline:
    """Transcendental functions and a division of each pixel, read twice."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    light, out = Func("light"), Func("pointwise")
    light[x, y] = log(image[x, y] + 1.0) * exp(image[x, y] * -0.5)
    out[x, y] = light[x, y] / (light[x + 1, y] + 1.0)
    return pipeline(out, estimates={out: [WIDTH, HEIGHT // 2], image: [WIDTH + 1, HEIGHT // 2]})


def resampled() -> Pipeline:
    """A picture of half the size and back: strided reads, and reads at x / 2."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    small, out = Func("small"), Func("resampled")
    small[x, y] = (image[2 * x, 2 * y] + image[2 * x + 1, 2 * y + 1]) * 0.5
    out[x, y] = small[x / 2, y / 2] + small[x / 2 + 1, y / 2]
    return pipeline(out, estimates={out: [WIDTH, HEIGHT], image: [WIDTH + 2, HEIGHT]})


def looked_up() -> Pipeline:
    """A table that each pixel looks up: gathers."""
    x, y, i = Var("x"), Var("y"), Var("i")
    image = ImageParam(UInt8, 2, "image")
    curve, out = Func("curve"), Func("looked_up")
    curve[i] = cast(UInt16, clamp(i, 0, 255) * i)
    out[x, y] = curve[cast(Int32, image[x, y])]
    return pipeline(out, estimates={out: [WIDTH, HEIGHT], image: [WIDTH, HEIGHT]})


def product() -> Pipeline:
    """The product of two matrices: an update over a long reduction."""
    x, y = Var("x"), Var("y")
    a, b = ImageParam(Float32, 2, "a"), ImageParam(Float32, 2, "b")
    r = RDom([(0, 256)], "r")
    out = Func("product")
    out[x, y] = 0.0
    out[x, y] += a[r.x, y] * b[x, r.x]
    return pipeline(out, estimates={out: [256, 256], a: [256, 256], b: [256, 256]})


KERNELS = (stencil, chain, pointwise, resampled, looked_up, product)
"""All of them."""
