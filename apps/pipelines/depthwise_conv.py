"""A depthwise-separable convolution: 3x3 pixels within each channel, then a mix of the channels of
each pixel; one of the pipelines that [A21] schedules, at the size of a layer of MobileNet.

Layer: Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
Applications", 2017, after Vanhoucke, 2014.
"""

from __future__ import annotations

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, clamp, select
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, montage

WIDTH, HEIGHT, BATCH = 112, 112, 4

CHANNELS_IN, CHANNELS_OUT = 32, 16


def pipeline(channels_in: int = CHANNELS_IN) -> Pipeline:
    """Pictures indexed (channel, x, y, picture), 0 outside; negative results become 0.

    ``depthwise`` is indexed (channel, x, y), ``pointwise`` (output channel, input channel).
    """
    d, x, y, b = Var("d"), Var("x"), Var("y"), Var("b")
    image = ImageParam(Float32, 4, "input")
    depthwise = ImageParam(Float32, 3, "depthwise")
    pointwise = ImageParam(Float32, 2, "pointwise")
    bias = ImageParam(Float32, 1, "bias")

    padded = Func("padded")
    low_x, low_y = image.min(1), image.min(2)
    high_x, high_y = low_x + image.extent(1) - 1, low_y + image.extent(2) - 1
    inside = (x >= low_x) & (x <= high_x) & (y >= low_y) & (y <= high_y)
    padded[d, x, y, b] = select(
        inside, image[d, clamp(x, low_x, high_x), clamp(y, low_y, high_y), b], 0.0
    )

    each = RDom([(0, 3), (0, 3)], name="r")
    convolved = Func("convolved")
    convolved[d, x, y, b] = 0.0
    convolved[d, x, y, b] += (
        depthwise[d, each.x, each.y] * padded[d, x + each.x - 1, y + each.y - 1, b]
    )

    channel = RDom([(0, channels_in)], name="k")
    mixed = Func("mixed")
    mixed[d, x, y, b] = bias[d]
    mixed[d, x, y, b] += pointwise[d, channel] * convolved[channel, x, y, b]

    output = Func("output")
    output[d, x, y, b] = spaces.max(mixed[d, x, y, b], 0.0)
    return spaces.pipeline(
        output,
        name="depthwise_conv",
        estimates={
            image: [channels_in, WIDTH, HEIGHT, BATCH],
            depthwise: [channels_in, 3, 3],
            pointwise: [CHANNELS_OUT, channels_in],
            bias: [CHANNELS_OUT],
            output: [CHANNELS_OUT, WIDTH, HEIGHT, BATCH],
        },
    )


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The quarters of the photograph as pictures, each in channels such as a first layer gives:
    positive mixtures of the colors of neighboring pixels. The weights are seeded random numbers,
    those of each channel's pixels 0 on the whole, so that edges show.
    """
    (_, channels), *_ = pipeline.estimate("depthwise") or ((0, CHANNELS_IN),)
    rng = np.random.default_rng(32)
    height, width = (extent // 2 for extent in photograph.shape[:2])
    pixels = photograph[: 2 * height, : 2 * width].astype(np.float32) / 255
    quarters = pixels.reshape(2, height, 2, width, 3).swapaxes(1, 2).reshape(4, height, width, 3)
    shifted = [np.roll(quarters, (dy, dx), (1, 2)) for dy in (0, 1) for dx in (0, 1)]
    mixture = rng.normal(0, 1, (12, channels)).astype(np.float32)
    depthwise = rng.normal(0, 0.3, (3, 3, channels)).astype(np.float32)
    depthwise -= depthwise.mean((0, 1))
    return {
        "input": np.maximum(np.concatenate(shifted, axis=3) @ mixture, 0),
        "depthwise": depthwise,
        "pointwise": rng.normal(0, 0.2, (channels, CHANNELS_OUT)).astype(np.float32),
        "bias": rng.normal(0, 0.1, CHANNELS_OUT).astype(np.float32),
    }


def _picture(output: Array) -> Photograph:
    """All channels of the second picture, the upper right quarter, or of the only picture."""
    return montage(np.moveaxis(output[:2][-1], 2, 0), 4)


APP = App(
    "depthwise_conv",
    "[A21]",
    "depthwise-separable convolution of a network, and ReLU",
    pipeline,
    picture=_picture,
    inputs=_inputs,
    paper_size=(2 * WIDTH, 2 * HEIGHT),
)
