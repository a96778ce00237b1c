"""Multi-scale interpolation: holes of a picture are filled from its pyramid. One of the pipelines
of [RK13], [S19], [S20] and [A21].

Method: Gortler et al., "The Lumigraph", 1996 (pull-push): colors are weighted by how opaque they
are, and averaged level by level. A coarser level shows through wherever a finer one is not opaque.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, clamp, select
from spaces.apps.app import App
from spaces.apps.output_ranges import output_ranges
from spaces.apps.pictures import Array, Photograph, clipped
from spaces.apps.pipelines.edges import edges_repeated
from spaces.apps.sizes import OutputRanges

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

LEVELS = 10
"""Levels of the pyramid."""

LIMITED = 4
"""This level and coarser ones repeat their edge pixels; otherwise the region beyond the picture
would grow with every level.
"""

HOLE = 12
"""Width and height of a hole in the shown picture, in pixels."""


def pipeline(levels: int = LEVELS) -> Pipeline:
    """RGB and opacity in [0, 1] to RGB. Outside, the picture repeats its edge pixels."""
    x, y, c = Var("x"), Var("y"), Var("c")
    image = ImageParam(Float32, 3, "input")
    bounded = edges_repeated(image)

    shrunk = [Func("shrunk_0")]
    opacity = bounded[x, y, 3]
    shrunk[0][x, y, c] = select(c < 3, bounded[x, y, c] * opacity, opacity)
    for level in range(1, levels):
        finer = shrunk[-1]
        if level == LIMITED:
            limited, scale = Func("limited"), 1 << (level - 1)
            limited[x, y, c] = finer[
                clamp(x, 0, image.width() / scale), clamp(y, 0, image.height() / scale), c
            ]
            finer = limited
        across, coarser = Func(f"shrunk_{level}_x"), Func(f"shrunk_{level}")
        across[x, y, c] = (
            finer[2 * x - 1, y, c] + 2.0 * finer[2 * x, y, c] + finer[2 * x + 1, y, c]
        ) * 0.25
        coarser[x, y, c] = (
            across[x, 2 * y - 1, c] + 2.0 * across[x, 2 * y, c] + across[x, 2 * y + 1, c]
        ) * 0.25
        shrunk.append(coarser)

    filled = shrunk[-1]
    for level in reversed(range(levels - 1)):
        across, enlarged = Func(f"enlarged_{level}_x"), Func(f"enlarged_{level}")
        across[x, y, c] = (filled[x / 2, y, c] + filled[(x + 1) / 2, y, c]) / 2.0
        enlarged[x, y, c] = (across[x, y / 2, c] + across[x, (y + 1) / 2, c]) / 2.0
        filled = Func(f"filled_{level}")
        through = 1.0 - shrunk[level][x, y, 3]
        filled[x, y, c] = shrunk[level][x, y, c] + through * enlarged[x, y, c]

    output = Func("output")
    output[x, y, c] = filled[x, y, c] / filled[x, y, 3]
    return spaces.pipeline(
        output,
        name="interpolate",
        estimates={image: [WIDTH, HEIGHT, CHANNELS + 1], output: [WIDTH, HEIGHT, CHANNELS]},
    )


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph with holes in a third of its area: random squares of a grid."""
    height, width = photograph.shape[:2]
    grid = np.random.default_rng(1).random((-(-height // HOLE), -(-width // HOLE))) > 1 / 3
    known = grid.repeat(HOLE, axis=0).repeat(HOLE, axis=1)[:height, :width]
    colors = np.where(known[:, :, None], (photograph + 1.0) / 256, 0.0)
    planes = np.concatenate([np.moveaxis(colors, 2, 0), known[None]])
    return {"input": np.ascontiguousarray(planes.astype(np.float32))}


def _sizes(pipeline: Pipeline, images: Mapping[str, OutputRanges]) -> dict[str, OutputRanges]:
    """Width and height of the picture, without its opacity."""
    return {
        name: (*ranges[:2], (0, CHANNELS))
        for name, ranges in output_ranges(pipeline, images).items()
    }


APP = App(
    "interpolate",
    "[RK13]",
    "holes of a picture filled from coarser levels of its pyramid",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    sizes=_sizes,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S19]",
)
