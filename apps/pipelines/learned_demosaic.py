"""Learned demosaicking: all three colors of each pixel by a network, as in [A21].

Network: Gharbi, Chaurasia, Paris and Durand, "Deep Joint Demosaicking and Denoising", 2016, in its
shape: 15 layers of 3x3 pixels and 64 channels at half the resolution of the mosaic. The last one
gives 12 channels, the colors of the four pixels of a cell. Those and the mosaic itself go through
one more layer at full resolution. The mosaic repeats green-red over blue-green.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, boundary, clamp, select
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, clipped
from spaces.apps.pipelines.layers import (
    CENTER,
    convolution,
    network,
    rectified,
    shape,
    small_weights,
)

WIDTH, HEIGHT = 256, 256
"""Width and height; [A21] names no size, so this is the size of the other network, `vdsr`."""

LAYERS = 15
"""Layers at half the resolution."""

CHANNELS = 64
"""Channels of each layer but the last, at half the resolution."""


def pipeline(layers: int = LAYERS, channels: int = CHANNELS) -> Pipeline:
    """A mosaic in [0, 1] to RGB. Outside, the mosaic is mirrored about its edge pixels, which keeps
    its colors in place.

    ``mix`` is (color, channel).
    """
    c, x, y = Var("c"), Var("x"), Var("y")
    raw = ImageParam(Float32, 2, "input")
    full = ImageParam(Float32, 4, "full_weights"), ImageParam(Float32, 1, "full_bias")
    mix = ImageParam(Float32, 2, "mix")
    mosaic = boundary.mirror_interior(raw)

    packed = Func("packed")
    packed[c, x, y] = mosaic[2 * x + c % 2, 2 * y + c / 2]
    cells, extents = network(packed, "cells", 4, 12, layers, channels)

    joined = Func("joined")
    color_here = 1 - x % 2 + y % 2
    joined[c, x, y] = select(
        c < 3,
        cells[clamp(c, 0, 2) + 3 * (x % 2 + 2 * (y % 2)), x / 2, y / 2],
        select(c - 3 == color_here, mosaic[x, y], 0.0),
    )
    whole = rectified(convolution(joined, "conv_full", *full, 6), "relu_full")

    k = RDom([(0, channels)], name="k")
    mixed, output = Func("mixed"), Func("output")
    mixed[x, y, c] = 0.0
    mixed[x, y, c] += mix[c, k] * whole[k, x, y]
    output[x, y, c] = clamp(mixed[x, y, c], 0.0, 1.0)
    return spaces.pipeline(
        output,
        name="learned_demosaic",
        estimates={
            raw: [WIDTH, HEIGHT],
            **extents,
            full[0]: [channels, 6, 3, 3],
            full[1]: [channels],
            mix: [3, channels],
            output: [WIDTH, HEIGHT, 3],
        },
    )


_CROSS = ((0, 0, -2, 0, 0), (0, 0, 4, 0, 0), (-2, 4, 8, 4, -2), (0, 0, 4, 0, 0), (0, 0, -2, 0, 0))
"""Sixteenths of the filter for green at red or blue pixels."""

_ROW = ((0, 0, 1, 0, 0), (0, -2, 0, -2, 0), (-2, 8, 10, 8, -2), (0, -2, 0, -2, 0), (0, 0, 1, 0, 0))
"""The filter for a color at a green pixel whose row has this color."""

_DIAGONAL = (
    (0, 0, -3, 0, 0), (0, 4, 0, 4, 0), (-3, 0, 12, 0, -3), (0, 4, 0, 4, 0), (0, 0, -3, 0, 0)
)  # fmt: skip
"""The filter for red at a blue pixel and blue at a red pixel."""


def weights(layers: int = LAYERS, channels: int = CHANNELS) -> dict[str, NDArray[np.float32]]:
    """Arrays for a network that demosaicks; they are made by a formula, not learned.

    The first 12 channels are the colors of the pixels of a cell by the linear filters of Malvar, He
    and Cutler, "High-Quality Linear Interpolation for Demosaicing of Bayer-Patterned Color Images",
    2004. The first layer computes them and the others hand them on. All other weights are random
    numbers, whose effect on the result is faint.
    """
    rng = np.random.default_rng(15)
    made = small_weights(rng, 4, 12, layers, channels)
    inner, last = made["weights"], made["last_weights"]
    made["first_weights"][..., :12] = _linear_filters()
    inner[..., :12] = last[:, :, :12] = made["biases"][:, :12] = 0
    for n in range(12):
        inner[:, :, :, n, n] = last[:, :, n, n] = CENTER
    full = rng.normal(0.0, 0.2, (3, 3, 6, channels)).astype(np.float32)
    mix = rng.normal(0.0, 0.0005, (channels, 3)).astype(np.float32)
    full[..., :3] = mix[:3] = 0
    for n in range(3):
        full[:, :, n, n], mix[n, n] = CENTER, 1
    return {**made, "full_weights": full, "full_bias": np.zeros(channels, np.float32), "mix": mix}


def _linear_filters() -> NDArray[np.float32]:
    """Weights of the first layer: [y, x, pixel of a cell, color + 3 * (its x + 2 * its y)]."""
    result = np.zeros((3, 3, 4, 12), np.float32)
    for at_y in (0, 1):
        for at_x in (0, 1):
            here = 1 - at_x + at_y
            for color in range(3):
                taps = _taps(color, here, at_y)
                for y, x in np.ndindex(5, 5):
                    cell_y, in_y = divmod(at_y + y - 2, 2)
                    cell_x, in_x = divmod(at_x + x - 2, 2)
                    output = color + 3 * (at_x + 2 * at_y)
                    result[cell_y + 1, cell_x + 1, in_x + 2 * in_y, output] += taps[y, x]
    return result


def _taps(color: int, here: int, at_y: int) -> NDArray[np.float64]:
    """The 5x5 filter for a color at a pixel of color ``here`` in an even or odd row of its cell."""
    if color == here:
        taps = np.zeros((5, 5))
        taps[2, 2] = 16
    elif color == 1:
        taps = np.array(_CROSS)
    elif here == 1:
        in_row = color == (0 if at_y == 0 else 2)
        taps = np.array(_ROW) if in_row else np.array(_ROW).T
    else:
        taps = np.array(_DIAGONAL)
    return taps / 16


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """One color of each pixel of the photograph, as a sensor has it; and the generated weights."""
    planes = (photograph.astype(np.float32) + 1) / 256
    mosaic = planes[..., 1].copy()
    mosaic[0::2, 1::2] = planes[0::2, 1::2, 0]
    mosaic[1::2, 0::2] = planes[1::2, 0::2, 2]
    return {"input": mosaic, **weights(*shape(pipeline))}


APP = App(
    "learned_demosaic",
    "[A21]",
    "raw mosaic to RGB by a network",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
    shown_size=(320, 240),
)
