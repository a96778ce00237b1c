"""Layers of convolutional networks; arrays are indexed (channel, x, y), channels innermost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var


def convolution(
    of: Func, name: str, weights: ImageParam, bias: ImageParam, channels: int, *layer: int
) -> Func:
    """A 3x3 convolution of ``channels`` channels, plus a bias, that reads beyond the picture what
    ``of`` is there; ``layer``, if given, is the last coordinate of weights and bias.

    ``weights`` is indexed (output channel, input channel, x, y).
    """
    c, x, y = Var("c"), Var("x"), Var("y")
    r = RDom([(0, channels), (0, 3), (0, 3)], name=f"r_{name}")
    result = Func(name)
    result[c, x, y] = bias[c, *layer]
    result[c, x, y] += weights[c, r.x, r.y, r.z, *layer] * of[r.x, x + r.y - 1, y + r.z - 1]
    return result


def rectified(of: Func, name: str) -> Func:
    """The values of ``of``, negative ones as 0."""
    c, x, y = Var("c"), Var("x"), Var("y")
    result = Func(name)
    result[c, x, y] = spaces.max(of[c, x, y], 0.0)
    return result


def network(
    of: Func, name: str, inputs: int, outputs: int, layers: int, channels: int
) -> tuple[Func, dict[Func | ImageParam | str, list[int]]]:
    """``layers`` convolutions in a row, from ``inputs`` channels to ``outputs``, and the extents of
    their weights and biases. Between them are ``channels`` channels, rectified; the last is
    called ``name``.

    ``weights`` and ``biases`` hold the inner layers: (output channel, input channel, x, y, layer)
    and (channel, layer).
    """
    first = ImageParam(Float32, 4, "first_weights"), ImageParam(Float32, 1, "first_bias")
    inner = ImageParam(Float32, 5, "weights"), ImageParam(Float32, 2, "biases")
    last = ImageParam(Float32, 4, "last_weights"), ImageParam(Float32, 1, "last_bias")
    active = rectified(convolution(of, "conv_1", *first, inputs), "relu_1")
    for n in range(2, layers):
        layer = convolution(active, f"conv_{n}", *inner, channels, n - 2)
        active = rectified(layer, f"relu_{n}")
    extents: dict[Func | ImageParam | str, list[int]] = {
        first[0]: [channels, inputs, 3, 3],
        first[1]: [channels],
        inner[0]: [channels, channels, 3, 3, layers - 2],
        inner[1]: [channels, layers - 2],
        last[0]: [outputs, channels, 3, 3],
        last[1]: [outputs],
    }
    return convolution(active, name, *last, channels), extents


def small_weights(
    rng: np.random.Generator, inputs: int, outputs: int, layers: int, channels: int
) -> dict[str, NDArray[np.float32]]:
    """Random weights and biases of a network; those of the last layer are so small that they have
    hardly any effect.
    """

    def random(*shape: int, scale: float) -> NDArray[np.float32]:
        return rng.normal(0.0, scale, shape).astype(np.float32)

    spread = (2 / (9 * channels)) ** 0.5
    return {
        "first_weights": random(3, 3, inputs, channels, scale=0.2),
        "first_bias": np.zeros(channels, np.float32),
        "weights": random(layers - 2, 3, 3, channels, channels, scale=spread),
        "last_weights": random(3, 3, channels, outputs, scale=0.002 * spread),
        "last_bias": np.zeros(outputs, np.float32),
        "biases": random(layers - 2, channels, scale=0.01),
    }


CENTER = np.array(((0, 0, 0), (0, 1, 0), (0, 0, 0)))
"""The weights that pass a channel on unchanged."""


def shape(pipeline: Pipeline) -> tuple[int, int]:
    """The number of layers of a network, and of channels of a layer."""
    (_, channels), *_, (_, inner) = pipeline.estimate("weights") or ((0, 0), (0, 0))
    return inner + 2, channels
