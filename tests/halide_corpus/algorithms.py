"""The pipelines of the corpus: small, of many shapes, on integers where tests compare bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from attrs import frozen

from spaces.backend.arguments import Array
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.reductions import sum as sum_over
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.integer_functions import likely
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16, UInt32

X, Y, Z, C = Var("x"), Var("y"), Var("z"), Var("c")


@frozen
class Algorithm:
    """A pipeline, its input images, and the sizes of its outputs, which are its estimates."""

    pipeline: Pipeline
    inputs: Mapping[str, Array]
    sizes: Mapping[str, tuple[tuple[int, int], ...]]


_Sizes = Mapping[Func, tuple[int, ...]]


def _algorithm(images: Mapping[ImageParam, tuple[int, ...]], outputs: _Sizes) -> Algorithm:
    """An algorithm on random pixels; sizes count dimension 0 first."""
    draw = np.random.default_rng(7)
    inputs = {i.name: _pixels(draw, i, extents[::-1]) for i, extents in images.items()}
    return Algorithm(
        pipeline(list(outputs), estimates={**images, **outputs}),
        inputs,
        {f.name: tuple((0, e) for e in extents) for f, extents in outputs.items()},
    )


def _pixels(draw: np.random.Generator, image: ImageParam, shape: tuple[int, ...]) -> Array:
    if image.type.is_float:
        return draw.random(shape, dtype=np.float32)
    return draw.integers(0, 256, shape).astype(image.type.dtype)


def blur() -> Algorithm:
    """A blur in x, then in y."""
    image = ImageParam(UInt16, 2, "input")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[X, Y] = (image[X, Y] + image[X + 1, Y] + image[X + 2, Y]) / 3
    blur_y[X, Y] = (blur_x[X, Y] + blur_x[X, Y + 1] + blur_x[X, Y + 2]) / 3
    return _algorithm({image: (98, 66)}, {blur_y: (96, 64)})


def unsharp() -> Algorithm:
    """A chain of floating-point stages over three channels."""
    image = ImageParam(Float32, 3, "input")
    gray, across, along, out = Func("gray"), Func("across"), Func("along"), Func("out")
    gray[X, Y] = image[X, Y, 0] * 0.25 + image[X, Y, 1] * 0.5 + image[X, Y, 2] * 0.25
    across[X, Y] = gray[X, Y] + gray[X + 1, Y] * 2.0 + gray[X + 2, Y]
    along[X, Y] = across[X, Y] + across[X, Y + 1] * 2.0 + across[X, Y + 2]
    out[X, Y, C] = image[X, Y, C] * 2.0 - along[X, Y] / 16.0
    return _algorithm({image: (66, 50, 3)}, {out: (64, 48, 3)})


def edge() -> Algorithm:
    """A stencil along y that reads a computed Func at clamped coordinates."""
    image = ImageParam(Int32, 2, "input")
    f, g = Func("f"), Func("g")
    f[X, Y] = image[X, Y] * 3 + 1
    above, here, below = (fn.clamp(Y + d, 0, 39) for d in (-1, 0, 1))
    g[X, Y] = f[X, above] + f[X, here] * 2 + f[X, below]
    return _algorithm({image: (48, 40)}, {g: (48, 40)})


def plateau() -> Algorithm:
    """Rows of a computed Func: some are read again and again, and each is read in its turn."""
    image = ImageParam(Int32, 2, "input")
    f, g = Func("f"), Func("g")
    f[X, Y] = image[X, Y] * 3 + 1
    g[X, Y] = f[X, fn.clamp(Y, 3, 9)] + f[X, Y]
    return _algorithm({image: (24, 16)}, {g: (24, 16)})


def pyramid() -> Algorithm:
    """Downsamples to half the resolution, and upsamples again."""
    image = ImageParam(UInt16, 2, "input")
    down, up = Func("down"), Func("up")
    x, y = X * 2, Y * 2
    down[X, Y] = (image[x, y] + image[x + 1, y] + image[x, y + 1] + image[x + 1, y + 1]) / 4
    up[X, Y] = (down[X / 2, Y / 2] * 3 + down[(X + 1) / 2, (Y + 1) / 2]) / 4
    return _algorithm({image: (66, 50)}, {up: (64, 48)})


def equalize() -> Algorithm:
    """A histogram, its running sum, and a lookup of each pixel in the running sum."""
    image = ImageParam(UInt8, 2, "input")
    r, b = RDom([(0, image.width()), (0, image.height())], "r"), RDom([(1, 255)], "b")
    histogram, cumulative, out = Func("histogram"), Func("cumulative"), Func("out")
    histogram[X] = fn.cast(UInt32, 0)
    histogram[fn.cast(Int32, image[r.x, r.y])] += fn.cast(UInt32, 1)
    cumulative[X] = histogram[X]
    cumulative[b] += cumulative[b - 1]
    out[X, Y] = cumulative[fn.cast(Int32, image[X, Y])] * 255 / 1536
    return _algorithm({image: (48, 32)}, {out: (48, 32)})


def recurrence() -> Algorithm:
    """Updates whose order matters: a filter along y, and polynomials over two RVars."""
    image = ImageParam(Int32, 2, "input")
    r, q = RDom([(1, 31)], "r"), RDom([(0, 4), (0, 3)], "q")
    filtered, poly, out = Func("filtered"), Func("poly"), Func("out")
    filtered[X, Y] = image[X, Y]
    filtered[X, r] = filtered[X, r - 1] * 3 + image[X, r]
    poly[X] = 0
    poly[X] = poly[X] * 2 + image[X, q.x + q.y * 4]
    out[X, Y] = filtered[X, Y] + poly[X]
    return _algorithm({image: (40, 32)}, {out: (40, 32)})


def diamond() -> Algorithm:
    """A Func with two consumers, both read by the output."""
    image = ImageParam(Int32, 2, "input")
    a, b, c, d = Func("a"), Func("b"), Func("c"), Func("d")
    a[X, Y] = image[X, Y] * 2 + 1
    b[X, Y] = a[X, Y] + a[X + 1, Y]
    c[X, Y] = a[X, Y] * a[X, Y + 1]
    d[X, Y] = b[X, Y] + b[X, Y + 1] - c[X, Y] - c[X + 1, Y]
    return _algorithm({image: (66, 50)}, {d: (64, 48)})


def pair() -> Algorithm:
    """Two outputs that read the same Func."""
    image = ImageParam(Int32, 2, "input")
    base, sums, steps = Func("base"), Func("sums"), Func("steps")
    base[X, Y] = image[X, Y] * 5 + 1
    sums[X, Y] = base[X, Y] + base[X + 1, Y]
    steps[X, Y] = base[X, Y] - base[X, Y + 1]
    return _algorithm({image: (66, 50)}, {sums: (64, 48), steps: (64, 48)})


def line() -> Algorithm:
    """Three stages along one dimension."""
    image = ImageParam(Int32, 1, "input")
    p, q, out = Func("p"), Func("q"), Func("out")
    p[X] = image[X] + image[X + 1]
    q[X] = p[X] * p[X + 2]
    out[X] = q[X] - q[X + 3]
    return _algorithm({image: (1006,)}, {out: (1000,)})


def volume() -> Algorithm:
    """Two stages in three dimensions."""
    image = ImageParam(UInt16, 3, "input")
    v, w = Func("v"), Func("w")
    v[X, Y, Z] = image[X, Y, Z] + image[X, Y, Z + 1] + image[X, Y, Z + 2]
    w[X, Y, Z] = v[X, Y, Z] + v[X + 1, Y, Z] + v[X, Y + 1, Z]
    return _algorithm({image: (33, 25, 18)}, {w: (32, 24, 16)})


def lookup() -> Algorithm:
    """A computed table read at pixel values."""
    image = ImageParam(UInt8, 2, "input")
    table, out = Func("table"), Func("out")
    table[X] = X * X % 251
    out[X, Y] = table[fn.cast(Int32, image[X, Y])] + table[fn.cast(Int32, image[X + 1, Y])]
    return _algorithm({image: (65, 48)}, {out: (64, 48)})


def gather() -> Algorithm:
    """A Func read at coordinates without limits."""
    image = ImageParam(Int32, 1, "input")
    g, out = Func("g"), Func("out")
    g[X] = X * 2
    out[X] = g[image[X]]
    return _algorithm({image: (64,)}, {out: (64,)})


def product() -> Algorithm:
    """A matrix product whose negative values become 0."""
    a, b = ImageParam(Int32, 2, "a"), ImageParam(Int32, 2, "b")
    k = RDom([(0, 24)], "k")
    prod, out = Func("prod"), Func("out")
    prod[X, Y] = 0
    prod[X, Y] += a[k, Y] * b[X, k]
    prod[X, Y] = fn.max(prod[X, Y] - 100, 0)
    out[X, Y] = prod[X, Y] + 1
    return _algorithm({a: (24, 32), b: (48, 24)}, {out: (48, 32)})


def average() -> Algorithm:
    """Sums of floats, which round differently in another order."""
    image = ImageParam(Float32, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    total = Func("total")
    total[X, Y] = fn.cast(Float32, 0)
    total[X, Y] += image[X + r.x, Y + r.y]
    return _algorithm({image: (35, 26)}, {total: (32, 24)})


def tall() -> Algorithm:
    """More rows than a grid has along y."""
    return _rows(4, 70000)


def wide() -> Algorithm:
    """Rows as wide as the largest block."""
    return _rows(1024, 300)


def _rows(width: int, height: int) -> Algorithm:
    """Bytes of two neighboring rows added up."""
    image = ImageParam(UInt8, 2, "input")
    f, g = Func("f"), Func("g")
    f[X, Y] = image[X, Y] + 1
    g[X, Y] = f[X, Y] + f[X, Y + 1]
    return _algorithm({image: (width, height + 1)}, {g: (width, height)})


def ignored() -> Algorithm:
    """A Func whose value nobody needs when another Func is inlined."""
    g, h, out = Func("g"), Func("h"), Func("out")
    g[X] = X * 2
    h[X] = fn.cast(Int32, 3)
    out[X] = h[g[X]] + X
    return _algorithm({}, {out: (64,)})


def trio() -> Algorithm:
    """Three Funcs; each needs a part of its own size; two are updated twice, everywhere and along a
    row.
    """
    image = ImageParam(Int32, 2, "input")
    f, g, h, out, r = Func("f"), Func("g"), Func("h"), Func("out"), RDom([(0, 5)], "r")
    f[X, Y] = image[X, Y] * 2
    f[X, Y] = f[X, Y] * 3 + image[X + 1, Y]
    f[r, Y] = f[r, Y] * 5 - f[r + 1, Y] + r
    g[X, Y] = image[X + 1, Y] + X
    g[X, Y] += g[X, Y] * g[X, Y] + Y
    g[r, Y] = g[r, Y] * 7 - g[r + 2, Y]
    h[X, Y] = image[X, Y + 1] - Y
    out[X, Y] = f[X, Y] + f[X + 2, Y + 1] * g[X, Y] + g[X, Y + 2] - h[X + 1, Y] * h[X, Y]
    return _algorithm({image: (33, 18)}, {out: (24, 16)})


def twins() -> Algorithm:
    """Two Funcs of unequal sizes; each reads a third Func at rows and columns of its own."""
    image = ImageParam(Int32, 2, "input")
    p, f, g, out = Func("p"), Func("f"), Func("g"), Func("out")
    p[X, Y] = image[X, Y] * 3 + image[X + 1, Y]
    f[X, Y] = p[X, Y] + p[X, Y + 1]
    g[X, Y] = p[X + 1, Y + 2] - X
    out[X, Y] = f[X, Y] + f[X + 3, Y + 1] * g[X, Y] - g[X, Y + 4]
    return _algorithm({image: (28, 19)}, {out: (24, 13)})


def holes() -> Algorithm:
    """A definition that gives values in some places, and an update that gives the others."""
    image = ImageParam(Int32, 2, "input")
    part, out = Func("part"), Func("out")
    part[X, Y] = fn.select(X + Y > 9, image[X, Y], undef(Int32)) + Y
    part[X, Y] = fn.select(X + Y > 9, undef(Int32), X * 2)
    out[X, Y] = part[X, Y] + part[X + 1, Y]
    return _algorithm({image: (56, 32)}, {out: (48, 32)})


def retouch() -> Algorithm:
    """An output whose update reads its earlier values."""
    image = ImageParam(Int32, 2, "input")
    out = Func("out")
    out[X, Y] = image[X, Y]
    out[X, Y] = out[X, Y] * out[X, Y] - Y
    return _algorithm({image: (48, 32)}, {out: (48, 32)})


def border() -> Algorithm:
    """A Func read at coordinates that a `likely` hint calls seldom limited."""
    image = ImageParam(Int32, 2, "input")
    f, g = Func("f"), Func("g")
    f[X, Y] = image[X, Y] * 3 + 1
    at = [fn.clamp(likely(X + d), 0, 47) for d in (-2, 0, 2)]
    g[X, Y] = f[at[0], Y] - f[at[1], Y] * 2 + f[at[2], fn.min(likely(Y + 1), 31)]
    return _algorithm({image: (48, 32)}, {g: (48, 32)})


def moments() -> Algorithm:
    """Sums over a named domain, in an update over another domain."""
    image = ImageParam(Int32, 2, "input")
    r, rows = RDom([(0, 5)], "r"), RDom([(0, 16)], "rows")
    moment, out = Func("moment"), Func("out")
    moment[X] = 0
    moment[X] += sum_over(r, image[X + r, rows], "part") * rows
    out[X] = moment[X] - moment[X + 1]
    return _algorithm({image: (76, 16)}, {out: (64,)})


def in_place() -> Algorithm:
    """Updates that read other elements of their Func: those that no iteration writes, one that one
    of them does, and neighbors along both dimensions.
    """
    image = ImageParam(Int32, 2, "input")
    r, q = RDom([(0, 8)], "r"), RDom([(1, 15), (1, 11)], "q")
    pairs, far, mirrored, near = Func("pairs"), Func("far"), Func("mirrored"), Func("near")
    table, out = Func("table"), Func("out")
    for row, func in enumerate((pairs, far, mirrored, near)):
        func[X] = image[X, row]
    pairs[r * 2] = pairs[r * 2 + 1] + 1
    far[r] = far[r + 8] + 1
    mirrored[r] = mirrored[15 - r] + 1
    near[r] = near[r + 7] + 1
    table[X, Y] = image[X, Y]
    left, up = table[q.x - 1, q.y], table[q.x, q.y - 1]
    table[q.x, q.y] = left * 3 + up - table[q.x - 1, q.y - 1]
    out[X, Y] = table[X, Y] + pairs[X] - far[X] * 2 + mirrored[X] * 3 - near[X]
    return _algorithm({image: (16, 12)}, {out: (16, 12)})


_MADE_BY: tuple[Callable[[], Algorithm], ...] = (
    *(
        blur,
        unsharp,
        edge,
        plateau,
        pyramid,
        equalize,
        recurrence,
        diamond,
        pair,
        line,
        volume,
        lookup,
    ),
    *(gather, product, average, tall, wide, ignored),
    *(trio, twins, holes, retouch, border, moments, in_place),
)


@cache
def algorithms() -> Mapping[str, Algorithm]:
    """All pipelines, by name."""
    return {make.__name__: make() for make in _MADE_BY}
