"""The structural similarity of two pictures at each pixel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, f32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2560, 1440
SIDE = 11
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
TAPS = np.exp(-(np.arange(-5, 6) ** 2) / 4.5).astype(np.float32)
TAPS /= TAPS.sum()


def pipeline() -> Pipeline:
    """Gaussian means of both pictures, of their squares and of their product, in two passes of 11
    each, and a quotient of them.
    """
    x, y = Var("x"), Var("y")
    first, second = ImageParam(UInt8, 2, "first"), ImageParam(UInt8, 2, "second")
    a, b = f32(first[x, y]), f32(second[x, y])

    def mean(value: spaces.Expr, name: str) -> Func:
        values, down, smooth = Func(f"{name}_values"), Func(f"{name}_down"), Func(name)
        values[x, y] = value
        down[x, y] = reduce(add, (values[x, y + d] * float(TAPS[d]) for d in range(SIDE)))
        smooth[x, y] = reduce(add, (down[x + d, y] * float(TAPS[d]) for d in range(SIDE)))
        return smooth

    names = ("mean_a", "mean_b", "square_a", "square_b", "product")
    means = [mean(v, n) for v, n in zip((a, b, a * a, b * b, a * b), names, strict=True)]
    ma, mb, saa, sbb, sab = (each[x, y] for each in means)
    similarity = Func("similarity")
    luminance = (2.0 * ma * mb + C1) / (ma * ma + mb * mb + C1)
    structure = (2.0 * (sab - ma * mb) + C2) / ((saa - ma * ma) + (sbb - mb * mb) + C2)
    similarity[x, y] = luminance * structure
    around = [WIDTH + SIDE - 1, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        similarity,
        name="ssim",
        estimates={first: around, second: around, similarity: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with windows."""
    a, b = (inputs[name].astype(np.float64) for name in ("first", "second"))

    def mean(values: Array) -> Array:
        windows = sliding_window_view(values, (SIDE, SIDE))
        found: Array = np.einsum("yxij,i,j->yx", windows, TAPS, TAPS)
        return found

    ma, mb = mean(a), mean(b)
    va, vb, cov = mean(a * a) - ma**2, mean(b * b) - mb**2, mean(a * b) - ma * mb
    luminance = (2 * ma * mb + C1) / (ma**2 + mb**2 + C1)
    similarity: Array = luminance * (2 * cov + C2) / (va + vb + C2)
    return similarity


GALLERY_PIPELINE = GalleryPipeline(
    name="ssim",
    kind=PipelineKind.FILTERED_PRODUCTS,
    summary="structural similarity by Gaussians of 11x11, 8 bits to float32",
    pipeline=pipeline,
    expected=expected,
    small={"first": (47, 33), "second": (47, 33), "similarity": (37, 23)},
    tolerance=1e-4,
)
