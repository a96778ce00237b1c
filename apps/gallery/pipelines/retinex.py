"""Light taken from a picture: logarithms less those of three wide blurs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np

import spaces
from spaces import Expr, Func, ImageParam, Pipeline, RDom, UInt8, Var, f32, log
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1536, 1024
SIDES = (7, 15, 31)
MARGIN = 30
"""Pixels that the widest blur needs on each side."""


def pipeline() -> Pipeline:
    """Each blur is a box applied twice, across and down. The mean of the three differences."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    light, output = Func("light"), Func("output")
    light[x, y] = f32(image[x, y]) + 1.0

    def box(of: Func, name: str, side: int) -> Func:
        across, down = Func(f"{name}_across"), Func(f"{name}_down")
        r, s = (RDom([(-(side // 2), side)], f"{name}_{axis}") for axis in "rs")
        across[x, y] = 0.0
        across[x, y] += of[x + r, y]
        down[x, y] = 0.0
        down[x, y] += across[x, y + s] * (1.0 / side**2)
        return down

    def difference(side: int) -> Expr:
        blur = box(box(light, f"first_{side}", side), f"second_{side}", side)
        single = Func(f"difference_{side}")
        single[x, y] = log(light[x, y] / blur[x, y])
        return single[x + MARGIN, y + MARGIN].as_expr()

    output[x, y] = reduce(add, map(difference, SIDES)) * (1 / len(SIDES))
    around = [WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN]
    return spaces.pipeline(
        output, name="retinex", estimates={image: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Blurs as convolutions with triangles."""
    light = inputs["image"] + 1.0
    total = 3 * np.log(light[MARGIN:-MARGIN, MARGIN:-MARGIN])
    for side in SIDES:
        triangle = np.convolve(np.ones(side), np.ones(side)) / side**2
        cut = MARGIN + 1 - side
        blur = light[cut : light.shape[0] - cut, cut : light.shape[1] - cut]
        for axis in range(2):
            blur = np.apply_along_axis(np.convolve, axis, blur, triangle, "valid")
        total = total - np.log(blur)
    mean: Array = total / 3
    return mean


GALLERY_PIPELINE = GalleryPipeline(
    name="retinex",
    kind=PipelineKind.FILTERS,
    summary="logarithm less those of three wide blurs, 8 bits to float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (97, 83), "output": (37, 23)},
    tolerance=2e-6,
)
