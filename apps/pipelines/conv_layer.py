"""A convolution layer of a neural network with a rectifier: one of the pipelines of [S20] and
[A21], at the size of [S20].
"""

from __future__ import annotations

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, max
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, montage

WIDTH, HEIGHT, IMAGES = 128, 128, 4

CHANNELS_IN, CHANNELS_OUT = 64, 64

SHOWN = 32
"""Channels of the first image that a picture shows, eight in a row."""


def pipeline(channels_in: int = CHANNELS_IN, channels_out: int = CHANNELS_OUT) -> Pipeline:
    """A bias plus a weighted sum over 3x3 pixels and all channels; negative values become 0.

    Channels are dimension 0, images dimension 3. The output is two pixels smaller than the input.
    """
    c, x, y, n = Var("c"), Var("x"), Var("y"), Var("n")
    image = ImageParam(Float32, 4, "input")
    weights = ImageParam(Float32, 4, "filter")
    bias = ImageParam(Float32, 1, "bias")

    conv = Func("conv")
    r = RDom([(0, channels_in), (0, 3), (0, 3)])
    conv[c, x, y, n] = bias[c]
    conv[c, x, y, n] += weights[c, r.y, r.z, r.x] * image[r.x, x + r.y, y + r.z, n]
    relu = Func("relu")
    relu[c, x, y, n] = max(0.0, conv[c, x, y, n])
    return spaces.pipeline(
        relu,
        name="conv_layer",
        estimates={
            image: [channels_in, WIDTH + 2, HEIGHT + 2, IMAGES],
            weights: [channels_out, 3, 3, channels_in],
            bias: [channels_out],
            relu: [channels_out, WIDTH, HEIGHT, IMAGES],
        },
    )


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """Each image is the photograph, brightened; each of its channels a mixture of its colors.

    Weights are drawn as in an untrained network: normally, with variance 2 / (terms of a sum).
    """
    channels_in = (pipeline.estimate("input") or ())[0][1]
    channels_out = (pipeline.estimate("bias") or ())[0][1]
    generator = np.random.default_rng(2)
    mixture = generator.standard_normal((3, channels_in)) / np.sqrt(3)
    channels = (photograph / 127.5 - 1) @ mixture
    images = np.stack([channels * (1 + n / 8) for n in range(IMAGES)])
    weights = generator.standard_normal((channels_in, 3, 3, channels_out))
    return {
        "input": images.astype(np.float32),
        "filter": (weights * np.sqrt(2 / (9 * channels_in))).astype(np.float32),
        "bias": (generator.standard_normal(channels_out) / 10).astype(np.float32),
    }


def _picture(array: Array) -> Photograph:
    """Channels of the first image, each from black to white."""
    return montage(np.moveaxis(array[0], 2, 0)[:SHOWN], 8)


APP = App(
    "conv_layer",
    "[A21]",
    "3x3 convolution of 64 channels to 64, and a rectifier",
    pipeline,
    picture=_picture,
    inputs=_inputs,
    paper_size=(WIDTH + 2, HEIGHT + 2),
    sized_by="[S20]",
    shown_size=(WIDTH + 2, 3 * WIDTH // 4 + 2),
)
