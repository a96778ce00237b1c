"""A layer that doubles the size of its images: a transposed convolution."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

CHANNELS_IN, CHANNELS_OUT, SIZE = 32, 16, 64


def pipeline() -> Pipeline:
    """Weights of 4x4 and stride 2: an output pixel has four input pixels, and the weights of its
    place among 2x2. The image has a line and a column more than half of the output.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    image, weights = ImageParam(Float32, 3, "image"), ImageParam(Float32, 4, "weights")
    bias = ImageParam(Float32, 1, "bias")
    output = Func("output")
    r = RDom([(0, 2), (0, 2), (0, CHANNELS_IN)], "r")
    weight = weights[x % 2 + 2 * r.x, y % 2 + 2 * r.y, c, r.z]
    output[x, y, c] = bias[c]
    output[x, y, c] += weight * image[x / 2 + 1 - r.x, y / 2 + 1 - r.y, r.z]
    return spaces.pipeline(
        output,
        name="conv_transposed",
        estimates={
            image: [SIZE + 1, SIZE + 1, CHANNELS_IN],
            weights: [4, 4, CHANNELS_OUT, CHANNELS_IN],
            bias: [CHANNELS_OUT],
            output: [2 * SIZE, 2 * SIZE, CHANNELS_OUT],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Each input pixel spreads its weights of 4x4 over the output."""
    image, weights = (inputs[name].astype(np.float64) for name in ("image", "weights"))
    _, height, width = image.shape
    spread = np.zeros((weights.shape[1], 2 * height + 2, 2 * width + 2))
    for j, i in np.ndindex(4, 4):
        part = np.einsum("kyx,kc->cyx", image, weights[:, :, j, i])
        spread[:, j : j + 2 * height : 2, i : i + 2 * width : 2] += part
    found: Array = spread[:, 2:-2, 2:-2] + inputs["bias"][:, None, None]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="conv_transposed",
    kind=PipelineKind.CONVOLUTIONS,
    summary="transposed convolution of 4x4 with stride 2, 32 to 16 planes of 128x128, float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"image": around_zero(1.0), "weights": around_zero(0.1), "bias": around_zero(0.1)},
    small={
        "image": (20, 13, CHANNELS_IN),
        "weights": (4, 4, 7, CHANNELS_IN),
        "bias": (7,),
        "output": (38, 24, 7),
    },
    tolerance=5e-6,
)
