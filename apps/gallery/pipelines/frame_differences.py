"""Sums of absolute differences between the frames of two films."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, absd, u64
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, FRAMES = 640, 480, 120


def pipeline() -> Pipeline:
    """For each frame, the sum over all pixels in 64 bits."""
    t = Var("t")
    a, b = ImageParam(UInt8, 3, "a"), ImageParam(UInt8, 3, "b")
    output = Func("output")
    r = RDom([(0, a.width()), (0, a.height())], "r")
    output[t] = u64(0)
    output[t] += u64(absd(a[r.x, r.y, t], b[r.x, r.y, t]))
    size = [WIDTH, HEIGHT, FRAMES]
    return spaces.pipeline(
        output, name="frame_differences", estimates={a: size, b: size, output: [FRAMES]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with signed numbers."""
    differences = inputs["a"].astype(np.int16) - inputs["b"]
    sums: Array = np.abs(differences).sum((1, 2), dtype=np.uint64)
    return sums


GALLERY_PIPELINE = GalleryPipeline(
    name="frame_differences",
    kind=PipelineKind.REDUCTIONS,
    summary="sums of absolute differences of 120 frames, 8 bits to 64",
    pipeline=pipeline,
    expected=expected,
    small={"a": (37, 23, 7), "b": (37, 23, 7), "output": (7,)},
)
