"""Corners of black and white shapes by a hit-or-miss transform, 64 pixels a word."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt64, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WORDS, HEIGHT = 128, 8192


def pipeline() -> Pipeline:
    """Pixels that are set as are those left of and below them, and not those right and above.

    Bit k of word w is pixel ``64 w + k``.
    """
    w, y = Var("w"), Var("y")
    bits = ImageParam(UInt64, 2, "bits")
    left, right, output = Func("left"), Func("right"), Func("output")
    left[w, y] = (bits[w + 1, y + 1] << 1) | (bits[w, y + 1] >> 63)
    right[w, y] = (bits[w + 1, y + 1] >> 1) | (bits[w + 2, y + 1] << 63)
    hits = bits[w + 1, y + 1] & left[w, y] & bits[w + 1, y + 2]
    output[w, y] = hits & ~(right[w, y] | bits[w + 1, y])
    return spaces.pipeline(
        output,
        name="hit_or_miss",
        estimates={bits: [WORDS + 2, HEIGHT + 2], output: [WORDS, HEIGHT]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with a byte for each pixel."""
    words = inputs["bits"].astype("<u8")
    pixels = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
    middle, above, below = pixels[1:-1], pixels[:-2], pixels[2:]
    hits = middle & np.roll(middle, 1, 1) & below & ~np.roll(middle, -1, 1) & ~above
    packed: Array = np.packbits(hits, axis=1, bitorder="little").view("<u8")
    return packed[:, 1:-1].astype(np.uint64)


GALLERY_PIPELINE = GalleryPipeline(
    name="hit_or_miss",
    kind=PipelineKind.MORPHOLOGY,
    summary="corners of shapes, 64 pixels in a word of 64 bits",
    pipeline=pipeline,
    expected=expected,
    small={"bits": (13, 25), "output": (11, 23)},
)
