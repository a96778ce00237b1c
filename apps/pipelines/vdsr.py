"""VDSR: a picture enlarged by a network of 20 convolutions, one of the pipelines that [S19]
schedules, at its 256 x 256 pixels and 64 channels.

Network: Kim, Lee and Lee, "Accurate Image Super-Resolution Using Very Deep Convolutional Networks",
2016. It computes the residual to add to a picture that interpolation enlarged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, boundary
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, clipped, to_array
from spaces.apps.pipelines.layers import CENTER, network, shape, small_weights

WIDTH, HEIGHT = 256, 256

LAYERS = 20
"""Convolutions of 3x3 pixels."""

CHANNELS = 64
"""Channels of each layer but the last, which has one."""

SHARPENING = 0.75
"""Weight, in the result, of the difference between the picture and its smoothed copy."""


def pipeline(layers: int = LAYERS, channels: int = CHANNELS) -> Pipeline:
    """A gray picture plus the residual that the network computes of it.

    The picture repeats its edge pixels outside; each layer is computed as far beyond the output as
    the next one reads.
    """
    c, x, y = Var("c"), Var("x"), Var("y")
    image = ImageParam(Float32, 2, "input")
    bounded = boundary.repeat_edge(image)

    gray = Func("gray")
    gray[c, x, y] = bounded[x, y]
    residual, extents = network(gray, "residual", 1, 1, layers, channels)

    output = Func("output")
    output[x, y] = bounded[x, y] + residual[0, x, y]
    return spaces.pipeline(
        output, name="vdsr", estimates={image: [WIDTH, HEIGHT], **extents, output: [WIDTH, HEIGHT]}
    )


def weights(layers: int = LAYERS, channels: int = CHANNELS) -> dict[str, NDArray[np.float32]]:
    """Arrays for a network that sharpens mildly; they are made by a formula, not learned.

    Channel 0 hands the picture on and channel 1 a copy that the first four layers smooth; the
    residual is their difference. All other weights are small random numbers with hardly any effect
    on the residual.
    """
    made = small_weights(np.random.default_rng(20), 1, 1, layers, channels)
    inner, last = made["weights"], made["last_weights"]
    made["biases"][:, :2] = 0
    binomial = np.outer([1, 2, 1], [1, 2, 1]) / 16
    every = ((made["first_weights"], True), *((inner[n], n < 3) for n in range(layers - 2)))
    for weights_of, smooths in every:
        weights_of[..., :2] = 0
        source = 0 if weights_of.shape[2] == 1 else 1
        weights_of[:, :, 0, 0] = CENTER
        weights_of[:, :, source, 1] = binomial if smooths else CENTER
    last[:, :, 0, 0], last[:, :, 1, 0] = SHARPENING * CENTER, -SHARPENING * CENTER
    return made


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph at half its resolution, enlarged again; and the generated weights."""
    height, width = photograph.shape[:2]
    halves = (max(width // 2, 1), max(height // 2, 1))
    small = Image.fromarray(photograph).resize(halves, Image.Resampling.BICUBIC)
    enlarged = np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))
    picture = to_array(enlarged, pipeline.image("input"))
    return {"input": picture, **weights(*shape(pipeline))}


APP = App(
    "vdsr",
    "[S19]",
    "super-resolution by a network of 20 convolutions",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S19]",
    shown_size=(384, 288),
)
