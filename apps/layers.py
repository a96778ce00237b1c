"""Layers of convolutional networks; arrays are indexed (channel, x, y), channels innermost."""

from __future__ import annotations

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, Var


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


def shape(pipeline: Pipeline) -> tuple[int, int]:
    """How many layers, and channels of a layer, a network was built with."""
    (_, channels), *_, (_, inner) = pipeline.estimate("weights") or ((0, 0), (0, 0))
    return inner + 2, channels
