"""Pyramid blending: two pictures joined along a mask, each band of frequencies over a seam as wide
as its details; one of the pipelines that [S19] schedules (52 stages there, as here).

Method: Burt and Adelson, "A Multiresolution Spline With Application to Image Mosaics", 1983.
"""

from __future__ import annotations

import numpy as np

import spaces
from spaces import Expr, Float32, Func, ImageParam, Pipeline, Var
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, clipped, to_array
from spaces.apps.pipelines.edges import edges_repeated
from spaces.apps.pipelines.resampling import doubled, halved

WIDTH, HEIGHT, CHANNELS = 1920, 1024, 3

LEVELS = 4
"""Levels of each pyramid."""


def pipeline(levels: int = LEVELS) -> Pipeline:
    """``mask * first + (1 - mask) * second``, band by band: the bands of both pictures are mixed by
    the mask smoothed to their resolution. Outside, pictures and mask repeat their edge pixels.
    """
    x, y, c = Var("x"), Var("y"), Var("c")
    first = ImageParam(Float32, 3, "first")
    second = ImageParam(Float32, 3, "second")
    mask = ImageParam(Float32, 2, "mask")

    firsts, seconds, masks = (
        [edges_repeated(first)],
        [edges_repeated(second)],
        [edges_repeated(mask)],
    )
    for j in range(1, levels):
        firsts.append(halved(firsts[-1], f"first_{j}", x, y, c))
        seconds.append(halved(seconds[-1], f"second_{j}", x, y, c))
        masks.append(halved(masks[-1], f"mask_{j}", x, y))

    blended: list[Func] = []
    for j in range(levels):
        mixed = Func(f"blended_{j}")
        one, other = _band(firsts, j, "first", x, y, c), _band(seconds, j, "second", x, y, c)
        weight = masks[j][x, y]
        mixed[x, y, c] = weight * one[x, y, c] + (1.0 - weight) * other[x, y, c]
        blended.append(mixed)

    joined = blended[-1]
    for j in reversed(range(levels - 1)):
        finer = Func(f"joined_{j}" if j else "output")
        finer[x, y, c] = doubled(joined, f"joined_{j + 1}", x, y, c)[x, y, c] + blended[j][x, y, c]
        joined = finer

    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(
        joined,
        name="pyramid_blend",
        estimates={first: size, second: size, mask: size[:2], joined: size},
    )


def _band(levels: list[Func], j: int, name: str, x: Expr, y: Expr, c: Expr) -> Func:
    """The details of level ``j`` beyond the coarser levels; the whole level for the coarsest."""
    if j + 1 == len(levels):
        return levels[j]
    band = Func(f"{name}_band_{j}")
    coarser = doubled(levels[j + 1], f"{name}_{j + 1}", x, y, c)
    band[x, y, c] = levels[j][x, y, c] - coarser[x, y, c]
    return band


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph, and its mirror image with red and blue exchanged; a wave is the seam."""
    height, width = photograph.shape[:2]
    seam = width * (0.5 + 0.1 * np.sin(np.arange(height) * (6 * np.pi / height)))
    return {
        "first": to_array(photograph, pipeline.image("first")),
        "second": to_array(photograph[:, ::-1, ::-1], pipeline.image("second")),
        "mask": (np.arange(width) < seam[:, None]).astype(np.float32),
    }


APP = App(
    "pyramid_blend",
    "[S19]",
    "two pictures joined along a mask, band by band",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S19]",
)
