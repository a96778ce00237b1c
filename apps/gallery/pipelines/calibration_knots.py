"""A sensor's calibration: a curve of straight pieces whose knots are searched for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float64, Func, ImageParam, Pipeline, RDom, Var, clamp, i32, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SAMPLES, KNOTS = 3_000_000, 8


def pipeline() -> Pipeline:
    """The number of knots that are not above a sample tells its piece; pieces at the ends go on."""
    i = Var("i")
    samples = ImageParam(Float64, 1, "samples")
    knots, levels = ImageParam(Float64, 1, "knots"), ImageParam(Float64, 1, "levels")
    below, output = Func("below"), Func("output")
    k = RDom([(0, KNOTS)], "k")
    below[i] = 0
    below[i] += select(knots[k] <= samples[i], 1, 0)
    piece = clamp(i32(below[i]) - 1, 0, KNOTS - 2)
    slope = (levels[piece + 1] - levels[piece]) / (knots[piece + 1] - knots[piece])
    output[i] = levels[piece] + (samples[i] - knots[piece]) * slope
    return spaces.pipeline(
        output,
        name="calibration_knots",
        estimates={samples: [SAMPLES], knots: [KNOTS], levels: [KNOTS], output: [SAMPLES]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """By a binary search and slopes for all pieces."""
    samples, knots, levels = (inputs[name] for name in ("samples", "knots", "levels"))
    slopes = np.diff(levels) / np.diff(knots)
    piece = np.searchsorted(knots[1:-1], samples, side="right")
    offsets = levels[:-1] - slopes * knots[:-1]
    found: Array = slopes[piece] * samples + offsets[piece]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="calibration_knots",
    kind=PipelineKind.LOOKUPS,
    summary="a curve with eight searched knots, three million samples, float64",
    pipeline=pipeline,
    expected=expected,
    inputs={
        "samples": values_in(-1, 9),
        "knots": lambda dice, _type, shape: np.cumsum(dice.uniform(0.5, 1.5, shape)),
    },
    small={"samples": (367,), "knots": (KNOTS,), "levels": (KNOTS,), "output": (367,)},
    tolerance=1e-12,
)
