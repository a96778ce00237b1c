"""VDSR: a picture enlarged by a network of 20 convolutions, one of the pipelines that [S19]
schedules, at its 256 x 256 pixels and 64 channels.

Network: Kim, Lee and Lee, "Accurate Image Super-Resolution Using Very Deep Convolutional Networks",
2016. It computes what to add to a picture that was enlarged by interpolation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import spaces
from apps.app import App
from apps.layers import convolution, rectified, shape
from apps.pictures import Array, Photograph, clipped, to_array
from spaces import Float32, Func, ImageParam, Pipeline, Var, boundary

WIDTH, HEIGHT = 256, 256

LAYERS = 20
"""Convolutions of 3x3 pixels."""

CHANNELS = 64
"""Of each layer but the last, which has one."""

SHARPENING = 0.75
"""Weight, in the result, of the difference between the picture and its smoothed copy."""


def pipeline(layers: int = LAYERS, channels: int = CHANNELS) -> Pipeline:
    """A gray picture plus the residual that the network computes of it.

    The picture repeats its edge pixels outside; each layer is computed as far beyond the output as
    the next one reads. ``weights`` and ``biases`` hold the inner layers: (output channel, input
    channel, x, y, layer) and (channel, layer).
    """
    c, x, y = Var("c"), Var("x"), Var("y")
    image = ImageParam(Float32, 2, "input")
    first = ImageParam(Float32, 4, "first_weights"), ImageParam(Float32, 1, "first_bias")
    inner = ImageParam(Float32, 5, "weights"), ImageParam(Float32, 2, "biases")
    last = ImageParam(Float32, 4, "last_weights"), ImageParam(Float32, 1, "last_bias")
    bounded = boundary.repeat_edge(image)

    gray = Func("gray")
    gray[c, x, y] = bounded[x, y]
    active = rectified(convolution(gray, "conv_1", *first, 1), "relu_1")
    for n in range(2, layers):
        layer = convolution(active, f"conv_{n}", *inner, channels, n - 2)
        active = rectified(layer, f"relu_{n}")
    residual = convolution(active, "residual", *last, channels)

    output = Func("output")
    output[x, y] = bounded[x, y] + residual[0, x, y]
    return spaces.pipeline(
        output,
        name="vdsr",
        estimates={
            image: [WIDTH, HEIGHT],
            first[0]: [channels, 1, 3, 3],
            first[1]: [channels],
            inner[0]: [channels, channels, 3, 3, layers - 2],
            inner[1]: [channels, layers - 2],
            last[0]: [1, channels, 3, 3],
            last[1]: [1],
            output: [WIDTH, HEIGHT],
        },
    )


def weights(layers: int = LAYERS, channels: int = CHANNELS) -> dict[str, NDArray[np.float32]]:
    """Arrays for a network that sharpens mildly; they are made by a formula, not learned.

    Channel 0 hands the picture on and channel 1 a copy that the first four layers smooth; the
    residual is their difference. All other weights are small random numbers, whose effect on the
    residual is faint.
    """
    rng = np.random.default_rng(20)

    def random(*shape: int, scale: float) -> NDArray[np.float32]:
        return rng.normal(0.0, scale, shape).astype(np.float32)

    binomial = np.outer([1, 2, 1], [1, 2, 1]) / 16
    center = np.zeros((3, 3))
    center[1, 1] = 1
    spread = (2 / (9 * channels)) ** 0.5
    first = random(3, 3, 1, channels, scale=0.2)
    inner = random(layers - 2, 3, 3, channels, channels, scale=spread)
    last = random(3, 3, channels, 1, scale=0.002 * spread)
    biases = random(layers - 2, channels, scale=0.01)
    biases[:, :2] = 0
    for weights_of, smooths in ((first, True), *((inner[n], n < 3) for n in range(layers - 2))):
        weights_of[..., :2] = 0
        source = 0 if weights_of.shape[2] == 1 else 1
        weights_of[:, :, 0, 0] = center
        weights_of[:, :, source, 1] = binomial if smooths else center
    last[:, :, 0, 0], last[:, :, 1, 0] = SHARPENING * center, -SHARPENING * center
    return {
        "first_weights": first,
        "first_bias": np.zeros(channels, np.float32),
        "weights": inner,
        "biases": biases,
        "last_weights": last,
        "last_bias": np.zeros(1, np.float32),
    }


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
