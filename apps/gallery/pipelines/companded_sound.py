"""Telephone sound: companded bytes to samples of 16 bits by a table that is computed first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, i16, i32, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SAMPLES, CHANNELS = 480_000, 24
BIAS = 132


def pipeline() -> Pipeline:
    """A byte holds a sign, an exponent of 3 bits and 4 bits of fraction, all inverted (G.711)."""
    v, i, c = Var("v"), Var("i"), Var("c")
    coded = ImageParam(UInt8, 2, "coded")
    table, output = Func("table"), Func("output")
    bits = 255 - v
    exponent, fraction = (bits >> 4) & 7, bits & 15
    magnitude = ((fraction * 8 + BIAS) << exponent) - BIAS
    table[v] = i16(select(bits >= 128, -magnitude, magnitude))
    output[i, c] = table[i32(coded[i, c])]
    size = [SAMPLES, CHANNELS]
    return spaces.pipeline(output, name="companded_sound", estimates={coded: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """By the steps of each exponent, as floats."""
    bits = inputs["coded"].astype(np.int64) ^ 255
    scale = np.exp2(bits // 16 % 8)
    magnitude = scale * (33 + 2 * (bits % 16)) - 33
    samples: Array = (4 * np.copysign(magnitude, 127.5 - bits)).astype(np.int16)
    return samples


GALLERY_PIPELINE = GalleryPipeline(
    name="companded_sound",
    kind=PipelineKind.LOOKUPS,
    summary="24 channels of companded sound to samples, 8 bits to int16",
    pipeline=pipeline,
    expected=expected,
    small={"coded": (367, 3), "output": (367, 3)},
)
