"""Random pipelines of one idea each, made from its seed alone: a strided read, a look-up, the sum
of a row, interleaved colours. What a price is wrong about shows at once in such a pipeline; in one
of twenty stages it hides.

The ideas take turns, and dice choose the type, the size and what is done with each value. Those of
:mod:`bench.cost_quality.short_lines` came later, so they take turns from :data:`LATER` on.
"""

from __future__ import annotations

import random

from bench.cost_quality.short_lines import LATER_IDEAS
from bench.cost_quality.single_setting import (
    SIZES,
    SUMS,
    B,
    C,
    Idea,
    Made,
    Setting,
    X,
    Y,
)
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16, UInt32


def _strided(of: Setting) -> Made:
    step, image, out = of.dice.choice((2, 3, 4)), of.image(), Func("output")
    out[X, Y] = of.worked(image[step * X + of.dice.choice((0, 1)), Y])
    width = of.width // step
    return Made(out, {image: [step * width + 2, of.height], out: [width, of.height]})


def _pooled(of: Setting) -> Made:
    """The mean of windows that touch or overlap."""
    step = of.dice.choice((2, 3, 4))
    side = of.dice.choice((step, step + 1, 3))
    image, total, out = of.image(), Func("total"), Func("output")
    r = RDom([(0, side), (0, side)], "r")
    total[X, Y] += of.wide(image[step * X + r.x, step * Y + r.y])
    out[X, Y] = cast(of.type, total[X, Y] / of.wide(side * side))
    size = [of.width // step - 1, of.height // step - 1]
    return Made(out, {image: [step * extent + side for extent in size], out: size})


def _box_in_two_passes(of: Setting) -> Made:
    side = of.dice.choice((3, 5))
    image, rows, box, out = of.image(3), Func("rows"), Func("box"), Func("output")
    r, q = RDom([(0, side)], "r"), RDom([(0, side)], "q")
    rows[X, Y, C] += of.wide(image[X + r, Y, C])
    box[X, Y, C] += rows[X, Y + q, C]
    out[X, Y, C] = cast(of.type, box[X, Y, C] / of.wide(side * side))
    width, height = of.width // 2, of.height // 2
    return Made(out, {image: [width + side, height + side, 3], out: [width, height, 3]})


def _looked_up(of: Setting) -> Made:
    is_small = of.type is UInt8
    values = 256 if is_small else 4096
    image, out = ImageParam(UInt8 if is_small else UInt16, 2, "image"), Func("output")
    table = ImageParam(of.dice.choice(list(SUMS)), 1, "table")
    place = cast(Int32, image[X, Y])
    out[X, Y] = of.worked(table[place if is_small else fn.min(place, values - 1)])
    size = [of.width, of.height]
    return Made(out, {image: size, table: [values], out: size})


def _looked_up_by_channel(of: Setting) -> Made:
    """A table for each colour, of planes or of interleaved colours."""
    image, out = ImageParam(UInt8, 3, "image"), Func("output")
    table = ImageParam(of.dice.choice((UInt8, UInt16, Float32)), 2, "table")
    is_interleaved = of.dice.random() < 0.5
    place = (C, X, Y) if is_interleaved else (X, Y, C)
    out[place] = table[cast(Int32, image[place]), C]
    size = [3, of.width, of.height] if is_interleaved else [of.width, of.height, 3]
    return Made(out, {image: size, table: [256, 3], out: size})


def _interleaved(of: Setting) -> Made:
    image, out, channels = of.image(3), Func("output"), of.dice.choice((3, 4))
    out[C, X, Y] = of.worked(image[X, Y, C])
    return Made(out, {image: [of.width, of.height, channels], out: [channels, of.width, of.height]})


def _deinterleaved(of: Setting) -> Made:
    image, out, channels = of.image(3), Func("output"), of.dice.choice((3, 4))
    out[X, Y, C] = of.worked(image[C, X, Y])
    return Made(out, {image: [channels, of.width, of.height], out: [of.width, of.height, channels]})


def _interleaved_pointwise(of: Setting) -> Made:
    """Each colour of a pixel, and a sum of three of them."""
    image, grey, out, channels = of.image(3), Func("grey"), Func("output"), of.dice.choice((3, 4))
    parts = [of.wide(image[n, X, Y]) for n in range(3)]
    grey[X, Y] = parts[0] + parts[1] * of.wide(2) + parts[2]
    out[C, X, Y] = cast(of.type, (of.wide(image[C, X, Y]) * of.wide(3) + grey[X, Y]) / of.wide(7))
    size = [channels, of.width, of.height]
    return Made(out, {image: size, out: size})


def _transposed(of: Setting) -> Made:
    image, out = of.image(), Func("output")
    out[X, Y] = of.worked(image[Y, X])
    return Made(out, {image: [of.height, of.width], out: [of.width, of.height]})


def _reversed(of: Setting) -> Made:
    image, out, size = of.image(), Func("output"), [of.width, of.height]
    out[X, Y] = of.worked(image[of.width - 1 - X, Y])
    return Made(out, {image: size, out: size})


def _upsampled(of: Setting) -> Made:
    """The nearest value, along rows or in both dimensions."""
    image, small, out, step = of.image(), Func("small"), Func("output"), of.dice.choice((2, 3))
    small[X, Y] = of.worked(image[X, Y])
    out[X, Y] = small[X // step, Y // step] if of.dice.random() < 0.5 else small[X // step, Y]
    width, height = of.width - of.width % step, of.height - of.height % step
    return Made(out, {image: [width // step + 1, height], out: [width, height]})


def _row_sums(of: Setting) -> Made:
    image, out, r = of.image(), Func("output"), RDom([(0, of.width)], "r")
    out[Y] += of.wide(of.worked(image[r, Y]))
    return Made(out, {image: [of.width, of.height], out: [of.height]})


def _column_sums(of: Setting) -> Made:
    image, out, r = of.image(), Func("output"), RDom([(0, of.height)], "r")
    out[X] += of.wide(of.worked(image[X, r]))
    return Made(out, {image: [of.width, of.height], out: [of.width]})


def _plane_sums(of: Setting) -> Made:
    image, out, planes = of.image(3), Func("output"), of.dice.choice((1, 3, 16))
    r = RDom([(0, of.width), (0, of.height)], "r")
    out[C] += of.wide(of.worked(image[r.x, r.y, C]))
    return Made(out, {image: [of.width, of.height, planes], out: [planes]})


def _means_of_small_planes(of: Setting) -> Made:
    """The last pooling of a network: planes apart, or interleaved channels."""
    side, channels = of.dice.choice((7, 14, 56)), of.dice.choice((64, 512))
    batch = of.dice.choice((1, 8))
    image, total, out = of.image(4), Func("total"), Func("output")
    r = RDom([(0, side), (0, side)], "r")
    if of.dice.random() < 0.5:
        total[C, B] += of.wide(image[r.x, r.y, C, B])
        size = [side, side, channels, batch]
    else:
        total[C, B] += of.wide(image[C, r.x, r.y, B])
        size = [channels, side, side, batch]
    out[C, B] = total[C, B] / of.wide(side * side)
    return Made(out, {image: size, out: [channels, batch]})


def _place_of_greatest(of: Setting) -> Made:
    image, best, out = of.image(), Func("best"), Func("output")
    r = RDom([(0, of.width)], "r")
    best[Y] = (cast(Int32, 0), image[0, Y])
    is_better = image[r, Y] > best[Y][1]
    best[Y] = (fn.select(is_better, r, best[Y][0]), fn.select(is_better, image[r, Y], best[Y][1]))
    out[Y] = best[Y][0]
    return Made(out, {image: [of.width, of.height], out: [of.height]})


def _counts(of: Setting) -> Made:
    image, out, planes = ImageParam(UInt8, 3, "image"), Func("output"), of.dice.choice((1, 3))
    r = RDom([(0, of.width), (0, of.height)], "r")
    out[X, C] = cast(UInt32, 0)
    out[cast(Int32, image[r.x, r.y, C]), C] += cast(UInt32, 1)
    return Made(out, {image: [of.width, of.height, planes], out: [256, planes]})


def _shifted(of: Setting) -> Made:
    """Each value from a place up to 15 to the right, which another image tells."""
    image, shift, out = of.image(), ImageParam(UInt8, 2, "shift"), Func("output")
    out[X, Y] = of.worked(image[X + cast(Int32, shift[X, Y] // 16), Y])
    size = [of.width, of.height]
    return Made(out, {image: [of.width + 16, of.height], shift: size, out: size})


def _sums_and_differences(of: Setting) -> Made:
    """Of neighbours: side by side, or all sums first."""
    image, low, high, out = of.image(), Func("low"), Func("high"), Func("output")
    left, right = of.wide(image[2 * X, Y]), of.wide(image[2 * X + 1, Y])
    low[X, Y], high[X, Y] = left + right, left - right
    width = of.width - of.width % 2
    half = width // 2
    if of.dice.random() < 0.5:
        out[X, Y] = fn.select(X % 2 == 0, low[X // 2, Y], high[X // 2, Y])
    else:
        first, second = low[fn.min(X, half - 1), Y], high[fn.max(X - half, 0), Y]
        out[X, Y] = fn.select(half > X, first, second)
    return Made(out, {image: [width, of.height], out: [width, of.height]})


def _matrix_times_vector(of: Setting) -> Made:
    """Along the rows of the matrix or along its columns."""
    matrix, vector = ImageParam(of.type, 2, "matrix"), ImageParam(of.type, 1, "vector")
    out, r = Func("output"), RDom([(0, of.width)], "r")
    is_along_rows = of.dice.random() < 0.5
    out[Y] += of.wide(matrix[r, Y] if is_along_rows else matrix[Y, r]) * of.wide(vector[r])
    size = [of.width, of.height] if is_along_rows else [of.height, of.width]
    return Made(out, {matrix: size, vector: [of.width], out: [of.height]})


def _shared_stencil(of: Setting) -> Made:
    """A sum of planes, squared, read at four places."""
    image, total, square, out = of.image(3), Func("total"), Func("square"), Func("output")
    total[X, Y] = sum((of.wide(image[X, Y, n]) for n in (1, 2)), of.wide(image[X, Y, 0]))
    square[X, Y] = total[X, Y] * total[X, Y] + total[X + 1, Y]
    out[X, Y] = square[X, Y] + square[X, Y + 1]
    return Made(out, {image: [of.width + 1, of.height + 1, 3], out: [of.width, of.height]})


def _blocks(of: Setting) -> Made:
    """Each value of a block from all of its row, as in a transform of blocks."""
    side, image, out = of.dice.choice((4, 8)), of.image(), Func("output")
    r = RDom([(0, side)], "r")
    out[X, Y] += of.wide(image[X // side * side + r, Y]) * of.wide((r + X % side) % 5)
    size = [extent - extent % side for extent in (of.width, of.height)]
    return Made(out, {image: size, out: size})


IDEAS: tuple[Idea, ...] = (
    *(_strided, _pooled, _box_in_two_passes, _looked_up, _looked_up_by_channel, _interleaved),
    *(_deinterleaved, _interleaved_pointwise, _transposed, _reversed, _upsampled, _row_sums),
    *(_column_sums, _plane_sums, _means_of_small_planes, _place_of_greatest, _counts, _shifted),
    *(_sums_and_differences, _matrix_times_vector, _shared_stencil, _blocks),
)
"""Before :data:`LATER`, seed ``n`` has idea ``n`` modulo their number. A change of one, or of their
order, makes other pipelines under the same names, and their measurements worthless.
"""

LATER = 2 * len(IDEAS)
"""From this seed on, the ideas of :data:`LATER_IDEAS` take turns."""

SINGLE = "single"
"""The pipelines are called ``single_0``, ``single_1`` ..."""


def single_pipeline(seed: int) -> Pipeline:
    """The pipeline of a seed, with the estimates of its sizes."""
    name = f"{SINGLE}_{seed}"
    dice = random.Random(f"pipeline {name}")
    setting = Setting(dice, dice.choice(list(SUMS)), *dice.choice(SIZES))
    made = idea_of(seed)(setting)
    return pipeline(made.output, name=name, estimates=made.sizes)


def idea_of(seed: int) -> Idea:
    """The idea of a seed."""
    if seed < LATER:
        return IDEAS[seed % len(IDEAS)]
    return LATER_IDEAS[(seed - LATER) % len(LATER_IDEAS)]
