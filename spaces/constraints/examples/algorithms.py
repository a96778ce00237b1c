"""The small pipelines of the examples."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import add

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.reductions import argmin
from spaces.model.algorithm.require import require
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.functions import clamp, max
from spaces.model.expressions.types import Float32, Int32, Type, UInt8, UInt16

X, Y, Z = Var("x"), Var("y"), Var("z")


def blur(*size: int) -> Pipeline:
    """A blur in x, then in y; ``size`` estimates the output, and the image that it just needs."""
    return blur_of_image(size, tuple(extent + 2 for extent in size))


def blur_of_image(size: tuple[int, ...], of_image: tuple[int, ...]) -> Pipeline:
    """The same blur with estimates of both; without estimates if ``size`` is empty."""
    image = ImageParam(UInt16, 2, "input")
    bx, by = Func("bx"), Func("by")
    bx[X, Y] = (image[X, Y] + image[X + 1, Y] + image[X + 2, Y]) / 3
    by[X, Y] = (bx[X, Y] + bx[X, Y + 1] + bx[X, Y + 2]) / 3
    return pipeline(by, estimates={image: of_image, by: size} if size else {})


def guarded() -> Pipeline:
    """Values that ``require`` limits."""
    image = ImageParam(UInt8, 2, "input")
    f = Func("f")
    f[X, Y] = require(image[X, Y] < 200, image[X, Y] + 1, "Pixels must be below 200.")
    return pipeline(f)


def slopes() -> Pipeline:
    """Derivatives in both directions, and something made of one of them."""
    image = ImageParam(UInt16, 2, "input")
    dx, steep, dy, out = Func("dx"), Func("steep"), Func("dy"), Func("out")
    dx[X, Y] = image[X + 1, Y] - image[X, Y]
    steep[X, Y] = dx[X, Y] / 2
    dy[X, Y] = image[X, Y + 1] - image[X, Y]
    out[X, Y] = dx[X, Y] + dy[X, Y] + steep[X, Y]
    return pipeline(out)


def updated_slopes() -> Pipeline:
    """Derivatives in both directions, each changed twice."""
    dx, dy, out = Func("dx"), Func("dy"), Func("out")
    image = ImageParam(UInt16, 2, "input")
    dx[X, Y] = image[X + 1, Y] - image[X, Y]
    dy[X, Y] = image[X, Y + 1] - image[X, Y]
    for slope in (dx, dy):
        slope[X, Y] = slope[X, Y] * 2
        slope[X, Y] = slope[X, Y] + 1
    out[X, Y] = dx[X, Y] + dy[X, Y]
    return pipeline(out)


def chain() -> Pipeline:
    """Three Funcs, each read at two places by the next."""
    image = ImageParam(Int32, 2, "input")
    a, b, c = Func("a"), Func("b"), Func("c")
    a[X, Y] = image[X, Y] * 2
    b[X, Y] = a[X, Y] + a[X + 1, Y]
    c[X, Y] = b[X, Y] + b[X, Y + 1]
    return pipeline(c, estimates={c: [64, 32]})


def corner() -> Pipeline:
    """A Func whose tile needs one more value of its producer along both dimensions."""
    image = ImageParam(UInt8, 2, "input")
    p, q = Func("p"), Func("q")
    p[X, Y] = image[X, Y] + 1
    q[X, Y] = p[X, Y] + p[X + 1, Y + 1]
    return pipeline(q, estimates={q: [1024, 1024]})


def harmonic() -> Pipeline:
    """Rows that read fewer and fewer values; interval analysis finds no limit of their number."""
    image = ImageParam(Int32, 1, "input")
    f, out = Func("f"), Func("out")
    f[X] = image[clamp(X, 0, 9)] * 2
    out[X, Y] = f[X] + f[X + cast(Int32, 100.0 / cast(Float32, Y * Y + 1))]
    return pipeline(out)


def total(element: Type = Int32) -> Pipeline:
    """Sums of 4 x 3 values, whose order does not matter."""
    image = ImageParam(UInt16, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    s, out = Func("s"), Func("out")
    s[X, Y] = cast(element, 0)
    s[X, Y] = s[X, Y] + cast(element, image[X + r.x, Y + r.y])
    out[X, Y] = s[X, Y] + 1
    return pipeline(out)


def unset() -> Pipeline:
    """Sums that begin with an undefined value."""
    image = ImageParam(UInt16, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    s = Func("s")
    s[X, Y] = undef(Int32)
    s[X, Y] = s[X, Y] + cast(Int32, image[X + r.x, Y + r.y])
    return pipeline(s)


def horner() -> Pipeline:
    """Values of polynomials, whose order of evaluation matters."""
    image = ImageParam(Int32, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    s, out = Func("s"), Func("out")
    s[X, Y] = cast(image.type, 0)
    s[X, Y] = s[X, Y] * 2 + image[X + r.x, Y + r.y]
    out[X, Y] = s[X, Y] + 1
    return pipeline(out)


def float_total() -> Pipeline:
    """Sums of floats, which round differently in another order."""
    image = ImageParam(Float32, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    s = Func("s")
    s[X, Y] = cast(Float32, 0)
    s[X, Y] = s[X, Y] + image[X + r.x, Y + r.y]
    return pipeline(s)


def greatest(element: Type, *size: int) -> Pipeline:
    """The greatest of 4 x 3 values; ``size`` estimates the output."""
    image = ImageParam(element, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    s = Func("s")
    s[X, Y] = cast(element, 0)
    s[X, Y] = max(s[X, Y], image[X + r.x, Y + r.y])
    return pipeline(s, estimates={s: list(size)} if size else {})


def volume() -> Pipeline:
    """One Func of three dimensions."""
    image = ImageParam(UInt8, 3, "input")
    v = Func("v")
    v[X, Y, Z] = image[X, Y, Z] + 1
    return pipeline(v, estimates={v: [64, 64, 128]})


def ignored() -> Pipeline:
    """A Func whose value no Func needs once ``h`` is inlined."""
    g, h, out = Func("g"), Func("h"), Func("out")
    g[X] = X * 2
    h[X] = cast(Int32, 3)
    out[X] = h[g[X]] + X
    return pipeline(out)


def multiplying(stages: int, reads: int) -> Pipeline:
    """Each of ``stages`` Funcs reads the one before it so often, each time elsewhere."""
    image = ImageParam(Int32, 1, "input")
    funcs = [Func(f"f{i}") for i in range(stages)]
    funcs[0][X] = image[X] + image[X + 1]
    for before, func in pairwise(funcs):
        func[X] = reduce(add, (before[reads * X + k] for k in range(reads)))
    return pipeline(funcs[-1])


def scattered() -> Pipeline:
    """A Func read at coordinates without limits."""
    image = ImageParam(Int32, 1, "input")
    g, out = Func("g"), Func("out")
    g[X] = X * 2
    out[X] = g[image[X]]
    return pipeline(out)


def bins(width: float) -> Pipeline:
    """A Func read at places that a parameter scales."""
    image, p = ImageParam(Float32, 1, "input"), Param(Float32, "width", default=width)
    g, out = Func("g"), Func("out")
    g[X] = X * 2
    out[X] = g[cast(Int32, clamp(image[X], 0.0, 1.0) / p)]
    return pipeline(out)


def nearest() -> Pipeline:
    """The position of the least of 4 x 3 values, the first of several."""
    image = ImageParam(UInt16, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    out = Func("out")
    least = argmin(image[X + r.x, Y + r.y], name="s")
    out[X, Y] = least[0] * 10 + least[1]
    return pipeline(out)


def taken() -> Pipeline:
    """A Func with the name that a wrapper of another would have."""
    image = ImageParam(Int32, 2, "input")
    p, q = Func("p"), Func("p_in")
    out = Func("q")
    p[X, Y] = image[X, Y] + 1
    q[X, Y] = p[X, Y] * 2
    out[X, Y] = q[X, Y] + p[X, Y]
    return pipeline(out)


def spaced() -> Pipeline:
    """Rows in groups of ``n``, the first row of each ``pitch`` below the one before, and these
    again in groups: products and quotients of unknown numbers, which no proof covers.
    """
    n = Param(Int32, "n", default=2, lowest=1, highest=64)
    pitch = Param(Int32, "pitch", default=2, lowest=1, highest=64)
    bx, by = Func("bx"), Func("by")
    first = Y / n * pitch / n * pitch / n * pitch
    bx[X, Y] = X + 10 * Y
    by[X, Y] = bx[X, first] + bx[X, first + n]
    return pipeline(by)


def called() -> Pipeline:
    """``by`` reads ``code``, which a C function computes from three neighbors in ``bx``."""
    image = ImageParam(UInt16, 2, "input")
    bx, code, by = Func("bx"), Func("code"), Func("by")
    bx[X, Y] = image[X, Y] * 2
    code.define_extern("filter_rows", [bx], UInt16, [X, Y], needs=[[(X - 1, X + 1), (Y, Y)]])
    by[X, Y] = code[X, Y] + code[X, Y + 1]
    return pipeline(by, estimates={by: [1536, 2560], image: [(-1, 1538), (0, 2561)]})
