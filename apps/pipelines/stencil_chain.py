"""A chain of 5x5 stencils; each reads the one before: one of the pipelines of [A21]."""

from __future__ import annotations

import functools
import operator

import numpy as np
from PIL import Image

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var, boundary, cast
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, photographed

WIDTH, HEIGHT = 1536, 2560

STENCILS = 32

SHOWN, ENLARGED = 208, 3
"""The number of values along each side of a picture, and the width of each in pixels."""

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


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph in gray, whose lowest bit is another picture. That has the photograph again in
    the middle, in black and white dots, and so small that its copies 64 pixels apart do not meet.
    """
    (gray,) = photographed(pipeline, photograph).values()
    small = Image.fromarray(photograph).convert("L")
    small.thumbnail((2 * STENCILS, 2 * STENCILS))
    dots = np.asarray(small.convert("1"))
    bit = np.zeros(gray.shape, np.uint16)
    height, width = dots.shape
    top, left = (gray.shape[0] - height) // 2, (gray.shape[1] - width) // 2
    bit[top : top + height, left : left + width] = dots
    return {"input": (gray.astype(np.uint16) & ~np.uint16(1)) | bit}


def _picture(output: Array) -> Photograph:
    """The middle of the lowest bit, enlarged. Modulo 2 a stencil adds nine pixels 2 apart, so that
    a chain of 32, a power of 2, adds pixels 64 apart: nine copies of the input's bit.
    """
    (top, height), (left, width) = (
        (max(0, extent // 2 - SHOWN // 2), min(extent, SHOWN)) for extent in output.shape
    )
    bit = output[top : top + height, left : left + width].astype(np.uint16) & 1
    return np.kron(bit.astype(np.uint8) * 255, np.ones((ENLARGED, ENLARGED), np.uint8))


APP = App(
    "stencil_chain",
    "[A21]",
    "a chain of 32 stencils of 5x5 in uint16, where sums wrap",
    pipeline,
    picture=_picture,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S20]",
)
