"""Small pipelines of several tests, which no example of a rule needs."""

from spaces.constraints.examples.algorithms import X, Y
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Int32, UInt8


def column() -> Pipeline:
    """A Func of bytes read at two neighbors along y."""
    image = ImageParam(UInt8, 2, "input")
    p, q = Func("p"), Func("q")
    p[X, Y] = image[X, Y] + 1
    q[X, Y] = p[X, Y] + p[X, Y + 1]
    return pipeline(q)


def offset() -> Pipeline:
    """A Func without dimensions, the sum over a corner, taken from every pixel."""
    image = ImageParam(Int32, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    s, out = Func("s"), Func("out")
    s[()] = cast(Int32, 0)
    s[()] = s[()] + image[r.x, r.y]
    out[X, Y] = image[X, Y] - s[()]
    return pipeline(out)


def looked_up() -> Pipeline:
    """An image read at coordinates without limits."""
    image, out = ImageParam(Int32, 1, "input"), Func("out")
    out[X] = image[image[X]]
    return pipeline(out)


def segment() -> Pipeline:
    """Stages E, K, H, W and Z of [S20] Fig. 3: Z reads five lines of W, and W the three channels of
    K.
    """
    image = ImageParam(Float32, 2, "input")
    e, k, h, w, z = Func("E"), Func("K"), Func("H"), Func("W"), Func("Z")
    c = Var("c")
    e[X, Y] = image[X, Y] * 2.0
    k[X, Y, c] = e[X, Y] + e[X + 1, Y] + e[X + 2, Y] + c
    h[X, Y] = e[X, Y] * 4.0
    w[X, Y] = k[X, Y, 0] + k[X, Y, 1] + k[X, Y, 2] + h[X, Y]
    z[X, Y] = w[X, Y] + w[X, Y + 1] + w[X, Y + 2] + w[X, Y + 3] + w[X, Y + 4]
    return pipeline(z, estimates={z: [1920, 1080]})
