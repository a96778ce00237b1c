"""A chain of 5x5 stencils, each of which reads the one before: one of the pipelines of [A21]."""

from __future__ import annotations

import functools
import operator

import spaces
from apps.app import App
from spaces import Func, ImageParam, Pipeline, UInt16, Var, boundary, cast

WIDTH, HEIGHT = 1536, 2560

STENCILS = 32

REACH = 2
"""Pixels on each side that a stencil reads."""


def pipeline(stencils: int = STENCILS) -> Pipeline:
    """Weights ``(i + 3) * (j + 3)`` at offset (i, j), in uint16, where sums wrap. Outside, the
    picture repeats its edge pixels.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")
    previous = boundary.repeat_edge(image)
    offsets = range(-REACH, REACH + 1)
    for index in range(stencils):
        terms = [
            cast(UInt16, (i + 3) * (j + 3)) * previous[x + i, y + j]
            for i in offsets
            for j in offsets
        ]
        stage = Func(f"stage_{index}")
        stage[x, y] = functools.reduce(operator.add, terms)
        previous = stage
    output = Func("output")
    output[x, y] = previous[x, y]
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="stencil_chain", estimates={image: size, output: size})


APP = App(
    "stencil_chain",
    "[A21]",
    "a chain of 32 stencils of 5x5 in uint16; sums wrap, so that noise is left",
    pipeline,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S20]",
)
