"""Ideas of pipelines over short lines, large tables and layouts: where caches, masks and shuffles
decide, and not the work.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from bench.cost_quality.single_setting import B, C, Idea, Made, Setting, X, Y
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16, UInt32

_LENGTHS = (8, 12, 16, 24, 32, 48, 64)
"""Of short lines."""

_ROUNDED = (8, 16, 32, 64)
"""Of short lines whose length is a power of two."""


def _short_line(of: Setting, lengths: tuple[int, ...] = _LENGTHS) -> tuple[int, int]:
    """The length of short lines, and how many there are: together about half an image."""
    length = of.dice.choice(lengths)
    return length, of.width * of.height // 2 // length


def _table_at_random(of: Setting) -> Made:
    """A table of 1 KB to 16 MB, at places without any order."""
    type = of.dice.choice((UInt8, UInt16, Float32))
    values = (1 << of.dice.randrange(10, 25)) // type.bytes
    image, table, out = ImageParam(UInt32, 2, "image"), ImageParam(type, 1, "table"), Func("output")
    out[X, Y] = of.worked(table[cast(Int32, image[X, Y]) % values])
    size = [of.width, of.height]
    return Made(out, {image: size, table: [values], out: size})


def _table_along_a_way(of: Setting) -> Made:
    """A table of 1 KB to 16 MB, at places that grow slowly along a row, with a little noise."""
    type = of.dice.choice((UInt8, UInt16, Float32))
    values = (1 << of.dice.randrange(10, 25)) // type.bytes
    image, table, out = ImageParam(UInt8, 2, "image"), ImageParam(type, 1, "table"), Func("output")
    step, noise = of.dice.choice((1, 3)), cast(Int32, image[X, Y] // 64)
    out[X, Y] = of.worked(table[(step * X + of.width * Y + noise) % values])
    size = [of.width, of.height]
    return Made(out, {image: size, table: [values], out: size})


def _scaled_lines(of: Setting) -> Made:
    """Short lines by a factor and a summand for each place."""
    length, lines = _short_line(of)
    image, out = of.image(), Func("output")
    factor, more = (ImageParam(of.type, 1, name) for name in ("factor", "more"))
    out[X, Y] = of.worked(image[X, Y] * factor[X] + more[X])
    size = [length, lines]
    return Made(out, {image: size, factor: [length], more: [length], out: size})


def _filtered_lines(of: Setting) -> Made:
    """Short lines, each value with its neighbours on the line; the ends count again."""
    length, lines = _short_line(of)
    image, smooth, out = of.image(), Func("smooth"), Func("output")
    smooth[X, Y] = of.wide(image[X, Y]) * of.wide(2) + of.wide(image[fn.max(X - 1, 0), Y])
    out[X, Y] = smooth[X, Y] - of.wide(image[fn.min(X + 1, length - 1), Y])
    size = [length, lines]
    return Made(out, {image: size, out: size})


def _strided_pairs(of: Setting) -> Made:
    """Stages of sums and differences at a power of two on short lines: along rows or columns."""
    length, lines = _short_line(of, _ROUNDED)
    is_along_rows = of.dice.random() < 0.5
    image, before = of.image(), Func("stage_0")
    place = (X, Y) if is_along_rows else (Y, X)
    before[place] = of.wide(image[place])
    for number in range(1, of.dice.choice((2, 3, 4))):
        half, stage = length >> number, Func(f"stage_{number}")
        partner = X // (2 * half) * 2 * half + (X + half) % (2 * half)
        far = (partner, Y) if is_along_rows else (Y, partner)
        sign = fn.select(X // half % 2 == 0, before[place], of.wide(0) - before[place])
        stage[place] = sign + before[far]
        before = stage
    size = [length, lines] if is_along_rows else [lines, length]
    return Made(before, {image: size, before: size})


def _ordered_neighbours(of: Setting) -> Made:
    """Rounds in which neighbours on short lines take turns to be ordered."""
    length, lines = _short_line(of, (8, 16))
    is_along_rows = of.dice.random() < 0.5
    image, before = of.image(), Func("round_0")
    place = (X, Y) if is_along_rows else (Y, X)
    before[place] = image[place]
    for number in range(1, of.dice.choice((3, 4, 5))):
        after = Func(f"round_{number}")
        left, right = fn.max(X - 1, 0), fn.min(X + 1, length - 1)
        here = before[place]
        low, high = (before[(n, Y) if is_along_rows else (Y, n)] for n in (left, right))
        is_first = (X + number) % 2 == 0
        after[place] = fn.select(is_first, fn.min(here, high), fn.max(here, low))
        before = after
    size = [length, lines] if is_along_rows else [lines, length]
    return Made(before, {image: size, before: size})


def _sums_of_short_lines(of: Setting) -> Made:
    """A sum along each short innermost line."""
    length, lines = _short_line(of)
    image, out, r = of.image(), Func("output"), RDom([(0, length)], "r")
    out[Y] += of.wide(of.worked(image[r, Y]))
    return Made(out, {image: [length, lines], out: [lines]})


def _short_sums_of_lines(of: Setting) -> Made:
    """A short line as the sum of very many."""
    length, lines = _short_line(of)
    image, out, r = of.image(), Func("output"), RDom([(0, lines)], "r")
    out[X] += of.wide(of.worked(image[X, r]))
    return Made(out, {image: [length, lines], out: [length]})


def _sums_of_middle(of: Setting) -> Made:
    """Sums along the middle of three dimensions: short lines, each of some neighbours."""
    length, lines = _short_line(of)
    terms = of.dice.choice((4, 9, 16))
    image, out, r = of.image(3), Func("output"), RDom([(0, terms)], "r")
    out[C, Y] += of.wide(image[C, r, Y])
    lines = lines // terms + 1
    return Made(out, {image: [length, terms, lines], out: [length, lines]})


def _mixed_channels(of: Setting) -> Made:
    """Sums of all channels with weights, from planes or interleaved ones to either."""
    channels = of.dice.choice((2, 3, 4))
    image, weights, out = of.image(3), ImageParam(of.type, 2, "weights"), Func("output")
    reads_planes, writes_planes = of.dice.random() < 0.5, of.dice.random() < 0.5
    size = [of.width, of.height]
    terms = (
        of.wide(image[(X, Y, n) if reads_planes else (n, X, Y)]) * of.wide(weights[n, C])
        for n in range(channels)
    )
    out[(X, Y, C) if writes_planes else (C, X, Y)] = cast(of.type, reduce(add, terms))
    planes, woven = [*size, channels], [channels, *size]
    return Made(
        out,
        {
            image: planes if reads_planes else woven,
            weights: [channels, channels],
            out: planes if writes_planes else woven,
        },
    )


def _filtered_channels(of: Setting) -> Made:
    """Sums of interleaved channels over neighbours, with weights for each channel."""
    channels, side = of.dice.choice((3, 4, 8, 16)), of.dice.choice((3, 5))
    image, weights, out = of.image(3), ImageParam(of.type, 2, "weights"), Func("output")
    r = RDom([(0, side)], "r")
    out[C, X, Y] += of.wide(image[C, X + r, Y]) * of.wide(weights[C, r])
    width, height = of.width // channels, of.height
    return Made(
        out,
        {
            image: [channels, width + side, height],
            weights: [channels, side],
            out: [channels, width, height],
        },
    )


def _grouped_lines(of: Setting) -> Made:
    """Short lines by small matrices, another one for each group of lines."""
    length, groups = of.dice.choice((4, 8, 16)), of.dice.choice((4, 16))
    image, matrix, out = of.image(3), ImageParam(of.type, 3, "matrix"), Func("output")
    r = RDom([(0, length)], "r")
    out[C, B, Y] += of.wide(matrix[C, r, B]) * of.wide(image[r, B, Y])
    lines = of.width * of.height // 8 // (length * groups) + 1
    size = [length, groups, lines]
    return Made(out, {image: size, matrix: [length, length, groups], out: size})


LATER_IDEAS: tuple[Idea, ...] = (
    *(_table_at_random, _table_along_a_way, _scaled_lines, _filtered_lines, _strided_pairs),
    *(_ordered_neighbours, _sums_of_short_lines, _short_sums_of_lines, _sums_of_middle),
    *(_mixed_channels, _filtered_channels, _grouped_lines),
)
"""The ideas, in an order that must stay: measurements name pipelines by seed."""
