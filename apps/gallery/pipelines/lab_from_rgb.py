"""Lightness and two colour differences as the eye sees them (CIE 1976), from bytes of sRGB."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, UInt8, Var, f32, i32, mux, pow, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1280, 960
MATRIX = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
) / [[0.95047], [1.0], [1.08883]]
"""Linear sRGB to X, Y, Z, each over that of white (D65)."""


def pipeline() -> Pipeline:
    """Linear light by a table of 256 values, a product with a matrix, cube roots with a straight
    part near black, and their differences.
    """
    x, y, c, v = Var("x"), Var("y"), Var("c"), Var("v")
    rgb, matrix = ImageParam(UInt8, 3, "rgb"), ImageParam(Float32, 2, "matrix")
    linear, light, root, output = map(Func, ("linear", "light", "root", "output"))
    share = f32(v) / 255.0
    linear[v] = select(share <= 0.04045, share / 12.92, pow((share + 0.055) / 1.055, 2.4))
    k = RDom([(0, 3)], "k")
    light[x, y, c] = 0.0
    light[x, y, c] += matrix[k, c] * linear[i32(rgb[k, x, y])]
    straight = light[x, y, c] * (841 / 108) + 4 / 29
    root[x, y, c] = select(light[x, y, c] > 216 / 24389, pow(light[x, y, c], 1 / 3), straight)
    across, up, deep = (root[x, y, i] for i in range(3))
    output[c, x, y] = mux(c, [116.0 * up - 16.0, 500.0 * (across - up), 200.0 * (up - deep)])
    size = [3, WIDTH, HEIGHT]
    return spaces.pipeline(
        output, name="lab_from_rgb", estimates={rgb: size, matrix: [3, 3], output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same for whole arrays, without a table."""
    share = inputs["rgb"] / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    light = linear @ inputs["matrix"].astype(np.float64).T
    root = np.where(light > (6 / 29) ** 3, np.cbrt(light), light / 3 * (29 / 6) ** 2 + 4 / 29)
    lab: Array = root @ np.array([[0, 500, 0], [116, -500, 200], [0, 0, -200]]) - [16, 0, 0]
    return lab


GALLERY_PIPELINE = GalleryPipeline(
    name="lab_from_rgb",
    kind=PipelineKind.COLOURS,
    summary="interleaved sRGB to Lab, 8 bits to float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"matrix": lambda _dice, type, _shape: MATRIX.astype(type.dtype)},
    small={"rgb": (3, 37, 23), "matrix": (3, 3), "output": (3, 37, 23)},
    tolerance=5e-6,
)
