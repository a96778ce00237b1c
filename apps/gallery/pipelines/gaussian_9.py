"""A Gaussian of 9x9 in two passes, float32."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 1280, 720
TAPS = np.exp(-(np.arange(-4, 5) ** 2) / 8.0)
TAPS /= TAPS.sum()


def pipeline() -> Pipeline:
    """Across, then down; each plane of RGB by itself."""
    x, y, c = Var("x"), Var("y"), Var("c")
    image = ImageParam(Float32, 3, "image")
    across, down = Func("across"), Func("down")
    across[x, y, c] = reduce(add, (image[x + d, y, c] * float(t) for d, t in enumerate(TAPS)))
    down[x, y, c] = reduce(add, (across[x, y + d, c] * float(t) for d, t in enumerate(TAPS)))
    return spaces.pipeline(
        down,
        name="gaussian_9",
        estimates={image: [WIDTH + 8, HEIGHT + 8, 3], down: [WIDTH, HEIGHT, 3]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A contraction of windows with the weights."""
    windows = sliding_window_view(inputs["image"].astype(np.float64), (9, 9), (1, 2))
    found: Array = np.einsum("cyxij,i,j->cyx", windows, TAPS, TAPS)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="gaussian_9",
    kind=PipelineKind.FILTERS,
    summary="Gaussian of 9x9 in two passes, RGB, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (45, 31, 3), "down": (37, 23, 3)},
)
