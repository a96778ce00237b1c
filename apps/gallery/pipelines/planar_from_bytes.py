"""Pictures as a network wants them: planes of floats from interleaved bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, UInt8, Var, f32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, CHANNELS, IMAGES = 224, 224, 3, 32


def pipeline() -> Pipeline:
    """The value less the mean of its channel, times a scale."""
    x, y, c, n = Var("x"), Var("y"), Var("c"), Var("n")
    pictures = ImageParam(UInt8, 4, "pictures")
    mean, scale = ImageParam(Float32, 1, "mean"), ImageParam(Float32, 1, "scale")
    output = Func("output")
    output[x, y, c, n] = (f32(pictures[c, x, y, n]) - mean[c]) * scale[c]
    return spaces.pipeline(
        output,
        name="planar_from_bytes",
        estimates={
            pictures: [CHANNELS, WIDTH, HEIGHT, IMAGES],
            mean: [CHANNELS],
            scale: [CHANNELS],
            output: [WIDTH, HEIGHT, CHANNELS, IMAGES],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Channels scaled where they lie, then moved."""
    mean, scale = (inputs[name].astype(np.float64) for name in ("mean", "scale"))
    return np.moveaxis((inputs["pictures"] - mean) * scale, 3, 1)


GALLERY_PIPELINE = GalleryPipeline(
    name="planar_from_bytes",
    kind=PipelineKind.TRANSPOSES,
    summary="32 pictures from interleaved bytes to scaled planes of float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"mean": values_in(100, 130), "scale": values_in(0.01, 0.02)},
    small={
        "pictures": (3, 37, 23, 5),
        "mean": (3,),
        "scale": (3,),
        "output": (37, 23, 3, 5),
    },
)
