"""Non-local means: noise removed by averaging pixels whose surroundings look alike, one of the
pipelines that [S19], [S20] and [A21] schedule, at the size of [S19].

Method: Buades, Coll and Morel, "A Non-Local Algorithm for Image Denoising", 2005, computed as by
Darbon et al., "Fast Nonlocal Filtering Applied to Electron Cryomicroscopy", 2008. The squared
differences to a shifted picture are summed over patches in two passes.
"""

from __future__ import annotations

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Param, Pipeline, RDom, Var, clamp, fast_exp, mux
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, clipped, photographed
from spaces.apps.pipelines.edges import edges_repeated

WIDTH, HEIGHT, CHANNELS = 614, 1024, 3

PATCH = 7
"""Pixels along a side of the square that compares two pixels' surroundings."""

SEARCH = 7
"""Pixels along a side of the averaged square around each pixel."""

NOISE = 0.06
"""Standard deviation of the noise added to the photograph."""


def pipeline(patch: int = PATCH, search: int = SEARCH) -> Pipeline:
    """RGB in [0, 1]; ``sigma`` is how different pixels may be to be averaged. Outside, the picture
    repeats its edge pixels.
    """
    x, y, c, dx, dy = Var("x"), Var("y"), Var("c"), Var("dx"), Var("dy")
    image = ImageParam(Float32, 3, "input")
    sigma = Param(Float32, "sigma", 0.12)
    bounded = edges_repeated(image)

    different = Func("different")
    shifts = [bounded[x, y, i] - bounded[x + dx, y + dy, i] for i in range(CHANNELS)]
    red, green, blue = (shift * shift for shift in shifts)
    different[x, y, dx, dy] = red + green + blue

    p = RDom([(-(patch // 2), patch)], name="p")
    patch_y, patch_xy = Func("patch_y"), Func("patch_xy")
    patch_y[x, y, dx, dy] = 0.0
    patch_y[x, y, dx, dy] += different[x, y + p, dx, dy]
    patch_xy[x, y, dx, dy] = 0.0
    patch_xy[x, y, dx, dy] += patch_y[x + p, y, dx, dy]

    weight = Func("weight")
    scale = -1.0 / (sigma * sigma * float(patch) * float(patch))
    weight[x, y, dx, dy] = fast_exp(patch_xy[x, y, dx, dy] * scale)

    counted = Func("counted")
    counted[x, y, c] = mux(c, [*(bounded[x, y, i] for i in range(CHANNELS)), 1.0])

    s = RDom([(-(search // 2), search)] * 2, name="s")
    total = Func("total")
    total[x, y, c] = 0.0
    total[x, y, c] += weight[x, y, s.x, s.y] * counted[x + s.x, y + s.y, c]

    output = Func("output")
    output[x, y, c] = clamp(total[x, y, c] / total[x, y, CHANNELS], 0.0, 1.0)
    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(output, name="nl_means", estimates={image: size, output: size})


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph with noise."""
    rng = np.random.default_rng(614)
    return {
        name: np.clip(array + rng.normal(0, NOISE, array.shape), 0, 1).astype(np.float32)
        for name, array in photographed(pipeline, photograph).items()
    }


APP = App(
    "nl_means",
    "[S19]",
    "noise removed by averaging pixels in like surroundings",
    pipeline,
    picture=clipped,
    inputs=_inputs,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S19]",
)
