"""The mean and the variance of each line of samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, f64, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SAMPLES, LINES = 16384, 1024


def pipeline() -> Pipeline:
    """A sum, then a sum of squared deviations, in float64."""
    k, y = Var("k"), Var("y")
    samples = ImageParam(Float32, 2, "samples")
    total, squares, output = Func("total"), Func("squares"), Func("output")
    count = f64(samples.width())
    r, s = RDom([(0, samples.width())], "r"), RDom([(0, samples.width())], "s")
    total[y] += f64(samples[r, y])
    deviation = samples[s, y] - total[y] / count
    squares[y] += deviation * deviation
    output[k, y] = mux(k, [total[y] / count, squares[y] / count])
    return spaces.pipeline(
        output, name="line_statistics", estimates={samples: [SAMPLES, LINES], output: [2, LINES]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's mean and variance."""
    samples = inputs["samples"].astype(np.float64)
    return np.stack([samples.mean(1), samples.var(1)], 1)


GALLERY_PIPELINE = GalleryPipeline(
    name="line_statistics",
    kind=PipelineKind.REDUCTIONS,
    summary="mean and variance of 1024 lines of 16384 samples, float32 to float64",
    pipeline=pipeline,
    expected=expected,
    small={"samples": (337, 23), "output": (2, 23)},
    tolerance=1e-12,
)
