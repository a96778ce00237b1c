"""Bilateral guided upsampling: applies to a picture what an operator did to a small copy of it; one
of the pipelines that [A21] schedules.

Method: Chen, Adams, Wadhwa and Hasinoff, "Bilateral Guided Upsampling", 2016. In each cell of a
grid over position and brightness, an affine map of colors is fitted to the small pair of pictures.
The maps are interpolated at each pixel of the large one and applied. Halide's app solves with
approximate reciprocals; this one divides.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np
from PIL import Image

import spaces
from spaces import (
    Expr,
    Float32,
    Func,
    ImageParam,
    Int32,
    Pipeline,
    RDom,
    Var,
    cast,
    clamp,
    lerp,
    mux,
    round,
)
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, clipped, to_array
from spaces.apps.pipelines.edges import edges_repeated
from spaces.model.expressions.expr import Arithmetic

WIDTH, HEIGHT = 1536, 2560

FACTOR = 8
"""The size of the large picture divided by that of the small ones, along each axis."""

CELL = 16
"""Pixels of the small picture along a side of a cell."""

BINS = 8
"""Cells along brightness."""

TAPS = (1 / 64, 1 / 27, 1 / 8, 1.0, 1 / 8, 1 / 27, 1 / 64)
"""Weights of cells at distances -3 to 3: nearly the inverse cube of the distance, which bridges
cells without pixels (Farbman, Fattal and Lischinski, "Convolution Pyramids", 2011).
"""

PULL = 0.1
"""Weight, in pixels, of the identity map in each fit."""

_PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]
"""Places of a symmetric matrix over red, green, blue and 1; its entries are channels 0 to 9 of the
grid. Channel ``10 + 4 * k + i`` holds the product of ``i`` with color ``k`` of the values.
"""

_CHANNELS = 22


def pipeline() -> Pipeline:
    """``output`` is the operator on ``slice_loc``, as ``values`` is the operator on ``splat_loc``;
    RGB in [0, 1]. Outside, the small pictures repeat their edge pixels.
    """
    x, y, z, c = Var("x"), Var("y"), Var("z"), Var("c")
    small = ImageParam(Float32, 3, "splat_loc")
    values = ImageParam(Float32, 3, "values")
    large = ImageParam(Float32, 3, "slice_loc")

    grid = _fitted(_blurred(_sums(small, values, x, y, z, c), x, y, z, c), x, y, z, c)
    line = Func("line")
    line[x, y, z, c] = mux(c, _solution(grid, x, y, z))

    size = CELL * FACTOR
    line_y, line_x, line_z = Func("line_y"), Func("line_x"), Func("line_z")
    part = cast(Float32, y % size) / float(size)
    line_y[x, y, z, c] = lerp(line[x, y / size, z, c], line[x, y / size + 1, z, c], part)
    part = cast(Float32, x % size) / float(size)
    line_x[x, y, z, c] = lerp(line_y[x / size, y, z, c], line_y[x / size + 1, y, z, c], part)
    place = Func("place")
    place[x, y] = clamp(_gray(large, x, y), 0.0, 1.0) * float(BINS)
    below = clamp(cast(Int32, place[x, y]), 0, BINS)
    part = place[x, y] - cast(Float32, below)
    line_z[x, y, c] = lerp(line_x[x, y, below, c], line_x[x, y, below + 1, c], part)

    output = Func("output")
    mapped = _sum([line_z[x, y, 4 * c + i] * large[x, y, i] for i in range(3)])
    output[x, y, c] = clamp(mapped + line_z[x, y, 4 * c + 3], 0.0, 1.0)
    low = [WIDTH // FACTOR, HEIGHT // FACTOR, 3]
    high = [WIDTH, HEIGHT, 3]
    return spaces.pipeline(
        output, name="bgu", estimates={small: low, values: low, large: high, output: high}
    )


def _sums(small: ImageParam, values: ImageParam, x: Expr, y: Expr, z: Expr, c: Expr) -> Func:
    """The products of the pixels' colors in each cell that a fit of least squares needs."""
    source, target = edges_repeated(small), edges_repeated(values)
    gray = Func("gray")
    gray[x, y] = _gray(source, x, y)

    r = RDom([(0, CELL), (0, CELL)], name="r")
    at_x, at_y = x * CELL + r.x - CELL // 2, y * CELL + r.y - CELL // 2
    bin = cast(Int32, round(clamp(gray[at_x, at_y], 0.0, 1.0) * float(BINS)))
    colors: list[Arithmetic] = [source[at_x, at_y, i] for i in range(3)]
    homogeneous = [*(color.as_expr() for color in colors), spaces.cast(Float32, 1)]
    products = [homogeneous[i] * homogeneous[j] if j < 3 else homogeneous[i] for i, j in _PAIRS]
    for k in range(3):
        value = target[at_x, at_y, k].as_expr()
        products += [value * homogeneous[i] for i in range(3)] + [value]
    histogram = Func("histogram")
    histogram[x, y, z, c] = 0.0
    histogram[x, y, clamp(bin, 0, BINS), c] += mux(c, products)
    return histogram


def _blurred(histogram: Func, x: Expr, y: Expr, z: Expr, c: Expr) -> Func:
    blur_z, blur_y, blur_x = Func("blur_z"), Func("blur_y"), Func("blur_x")
    taps = [(i - 3, weight) for i, weight in enumerate(TAPS)]
    blur_z[x, y, z, c] = _sum([histogram[x, y, z + i, c] * weight for i, weight in taps])
    blur_y[x, y, z, c] = _sum([blur_z[x, y + i, z, c] * weight for i, weight in taps])
    blur_x[x, y, z, c] = _sum([blur_y[x + i, y, z, c] * weight for i, weight in taps])
    return blur_x


def _fitted(sums: Func, x: Expr, y: Expr, z: Expr, c: Expr) -> Func:
    """The systems of equations after elimination, with a stage for each of the four columns. It
    divides the row of that number by its diagonal element, and takes it from the rows below.

    The matrices are symmetric and positive definite, so no rows need to be exchanged.
    """
    entries = [sums[x, y, z, i].as_expr() for i in range(_CHANNELS)]
    for i in range(4):
        entries[_at(i, i)] = entries[_at(i, i)] + PULL
    for k in range(3):
        entries[10 + 5 * k] = entries[10 + 5 * k] + PULL
    for j in range(4):
        after = list(entries)
        inverse = 1.0 / entries[_at(j, j)]
        divided = {i: entries[_at(j, i)] * inverse for i in range(j + 1, 4)}
        for i, factor in divided.items():
            after[_at(j, i)] = factor
            for k in range(i, 4):
                after[_at(i, k)] = entries[_at(i, k)] - divided[k] * entries[_at(j, i)]
        for values in (10, 14, 18):
            value = entries[values + j]
            after[values + j] = value * inverse
            for i, factor in divided.items():
                after[values + i] = entries[values + i] - factor * value
        stage = Func(f"eliminated_{j}")
        stage[x, y, z, c] = mux(c, after)
        entries = [stage[x, y, z, i].as_expr() for i in range(_CHANNELS)]
    return stage


def _solution(eliminated: Func, x: Expr, y: Expr, z: Expr) -> list[Expr]:
    """The affine maps: four factors, of red, green, blue and 1, for each color."""
    entries = [eliminated[x, y, z, i].as_expr() for i in range(_CHANNELS)]
    found: list[Expr] = []
    for k in range(3):
        row: dict[int, Expr] = {}
        for i in reversed(range(4)):
            known = (entries[_at(i, j)] * row[j] for j in range(i + 1, 4))
            row[i] = functools.reduce(operator.sub, known, entries[10 + 4 * k + i])
        found += [row[i] for i in range(4)]
    return found


def _at(i: int, j: int) -> int:
    return _PAIRS.index((i, j))


def _gray(image: ImageParam | Func, x: Arithmetic, y: Arithmetic) -> Expr:
    red, green, blue = (image[x, y, i] for i in range(3))
    return 0.25 * red + 0.5 * green + 0.25 * blue


def _sum(terms: Sequence[Arithmetic]) -> Expr:
    return functools.reduce(operator.add, terms).as_expr()


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph, its small copy, and what is to be learned: shadows lifted, colors warmer, the
    lower part darker.
    """
    height, width = photograph.shape[:2]
    size = (-(-width // FACTOR), -(-height // FACTOR))
    small = np.asarray(Image.fromarray(photograph).resize(size, Image.Resampling.BOX))
    source = to_array(small, pipeline.image("splat_loc"))
    fall = np.linspace(1.0, 0.6, size[1])[:, None]
    warm = np.array([1.1, 1.0, 0.8])[:, None, None]
    values = np.clip(source**0.6 * warm * fall, 0, 1).astype(np.float32)
    large = to_array(photograph, pipeline.image("slice_loc"))
    return {"splat_loc": source, "values": values, "slice_loc": large}


APP = App(
    "bgu",
    "[A21]",
    "bilateral guided upsampling of what was done to a small copy",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
)
