"""Small pipelines that several tests of the model use."""

from __future__ import annotations

from spaces import Func, ImageParam, Pipeline, RDom, UInt8, UInt16, Var, cast, pipeline
from spaces.model.algorithm.boundary import repeat_edge

X, Y, Z = Var("x"), Var("y"), Var("z")


def blur() -> Pipeline:
    """The two-stage blur of three by three pixels."""
    image = ImageParam(UInt16, 2, "input")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[X, Y] = (image[X, Y] + image[X + 1, Y] + image[X + 2, Y]) / 3
    blur_y[X, Y] = (blur_x[X, Y] + blur_x[X, Y + 1] + blur_x[X, Y + 2]) / 3
    return pipeline(blur_y, estimates={blur_y: [1536, 2560]})


def box() -> Pipeline:
    """Four Funcs: an extended image, a blur in x, a box sum over a 3x3 RDom, a blur in y."""
    image = ImageParam(UInt8, 2, "im")
    edges = repeat_edge(image)
    blur_x, hist, blur_y = Func("blur_x"), Func("hist"), Func("blur_y")
    blur_x[X, Y] = cast(UInt16, edges[X, Y]) + edges[X + 1, Y] + edges[X + 2, Y]
    r = RDom([(0, 3), (0, 3)], "r")
    hist[X, Y] = cast(UInt16, 0)
    hist[X, Y] += blur_x[X + r.x, Y + r.y]
    blur_y[X, Y] = (hist[X, Y] + hist[X, Y + 1] + hist[X, Y + 2]) / 3
    return pipeline(blur_y)


def diamond() -> Pipeline:
    """One Func read by two others, which the output reads."""
    image = ImageParam(UInt16, 2, "input")
    base, left, right, out = Func("base"), Func("left"), Func("right"), Func("out")
    base[X, Y] = image[X, Y] * 2
    left[X, Y] = base[X - 1, Y] + base[X, Y]
    right[X, Y] = base[X, Y + 1] + base[X, Y]
    out[X, Y] = left[X, Y] + right[X, Y]
    return pipeline(out)
