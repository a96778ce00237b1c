"""How strongly the gradients around each pixel share a direction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import comb
from operator import add

import numpy as np

import spaces
from spaces import Expr, Float32, Func, ImageParam, Pipeline, Var, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 3000, 2000
SIDE = 7
WEIGHTS = [comb(SIDE - 1, k) / 2 ** (SIDE - 1) for k in range(SIDE)]


def pipeline() -> Pipeline:
    """Sobel's gradients, their products smoothed by binomial weights of 7x7, and the difference of
    the eigenvalues of each 2x2 matrix over their sum.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    dx, dy, output = Func("dx"), Func("dy"), Func("output")

    def rise(ahead: list[Expr], behind: list[Expr]) -> Expr:
        apart = [a - b for a, b in zip(ahead, behind, strict=True)]
        return (apart[0] + 2.0 * apart[1] + apart[2]) * 0.125

    lines = [[image[x + i, y + j].as_expr() for i in range(3)] for j in range(3)]
    columns = [list(column) for column in zip(*lines, strict=True)]
    dx[x, y], dy[x, y] = rise(columns[2], columns[0]), rise(lines[2], lines[0])

    def smooth(a: Func, b: Func, name: str) -> Expr:
        product, down, across = Func(name), Func(f"{name}_down"), Func(f"{name}_across")
        product[x, y] = a[x, y] * b[x, y]
        down[x, y] = reduce(add, (product[x, y + d] * w for d, w in enumerate(WEIGHTS)))
        across[x, y] = reduce(add, (down[x + d, y] * w for d, w in enumerate(WEIGHTS)))
        return across[x, y].as_expr()

    xx, xy, yy = smooth(dx, dx, "xx"), smooth(dx, dy, "xy"), smooth(dy, dy, "yy")
    output[x, y] = sqrt((xx - yy) * (xx - yy) + 4.0 * xy * xy) / (xx + yy + 1e-4)
    around = [WIDTH + SIDE + 1, HEIGHT + SIDE + 1]
    return spaces.pipeline(
        output, name="structure_tensor", estimates={image: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """By NumPy's convolutions and eigenvalues."""
    image = inputs["image"].astype(np.float64)

    def filtered(values: Array, down: list[float], across: list[float]) -> Array:
        for axis, weights in enumerate((down, across)):
            values = np.apply_along_axis(np.convolve, axis, values, weights, "valid")
        return values

    dx = filtered(image, [0.25, 0.5, 0.25], [0.5, 0, -0.5])
    dy = filtered(image, [0.5, 0, -0.5], [0.25, 0.5, 0.25])
    xx, xy, yy = (filtered(one, WEIGHTS, WEIGHTS) for one in (dx * dx, dx * dy, dy * dy))
    tensor = np.stack([np.stack([xx, xy], -1), np.stack([xy, yy], -1)], -1)
    low, high = np.moveaxis(np.linalg.eigvalsh(tensor), -1, 0)
    found: Array = (high - low) / (high + low + 1e-4)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="structure_tensor",
    kind=PipelineKind.FILTERED_PRODUCTS,
    summary="coherence of gradients by products smoothed over 7x7, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (45, 31), "output": (37, 23)},
    tolerance=1e-5,
)
