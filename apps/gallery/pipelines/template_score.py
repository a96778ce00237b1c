"""How well a small picture fits at each place of a larger one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, f32, i32, sqrt
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 500, 380
SIDE = 16


def pipeline() -> Pipeline:
    """The sum of squared differences to the template of 16x16 pixels, over the root of the product
    of both sums of squares; squares are summed line by line first.
    """
    x, y = Var("x"), Var("y")
    image, template = ImageParam(UInt8, 2, "image"), ImageParam(UInt8, 2, "template")
    products, lines, energy, own = map(Func, ("products", "lines", "energy", "own"))
    output = Func("output")
    r = RDom([(0, SIDE), (0, SIDE)], "r")
    whole = RDom([(0, SIDE), (0, SIDE)], "whole")
    across, down = RDom([(0, SIDE)], "across"), RDom([(0, SIDE)], "down")
    products[x, y] = 0
    products[x, y] += i32(image[x + r.x, y + r.y]) * i32(template[r.x, r.y])
    lines[x, y] = 0
    lines[x, y] += i32(image[x + across, y]) * i32(image[x + across, y])
    energy[x, y] = 0
    energy[x, y] += lines[x, y + down]
    own[()] = 0
    own[()] += i32(template[whole.x, whole.y]) * i32(template[whole.x, whole.y])
    apart = energy[x, y] - 2 * products[x, y] + own[()]
    output[x, y] = f32(apart) / sqrt(f32(energy[x, y]) * f32(own[()]))
    around = [WIDTH + SIDE - 1, HEIGHT + SIDE - 1]
    return spaces.pipeline(
        output,
        name="template_score",
        estimates={image: around, template: [SIDE, SIDE], output: [WIDTH, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Differences of windows."""
    template = inputs["template"].astype(np.float64)
    windows = sliding_window_view(inputs["image"].astype(np.float64), (SIDE, SIDE))
    energies = (windows**2).sum((2, 3)) * (template**2).sum()
    score: Array = ((windows - template) ** 2).sum((2, 3)) / np.sqrt(energies)
    return score


GALLERY_PIPELINE = GalleryPipeline(
    name="template_score",
    kind=PipelineKind.MATCHING,
    summary="normalised squared differences to a template of 16x16, 8 bits to float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (52, 38), "template": (SIDE, SIDE), "output": (37, 23)},
)
