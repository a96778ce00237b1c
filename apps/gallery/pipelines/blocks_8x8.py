"""Planes of pixels as blocks of 8x8, each after the other, as encoders take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var, i16
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

ACROSS, DOWN = 480, 270


def pipeline() -> Pipeline:
    """Pixel (i, j) of block (bx, by), less the middle gray value."""
    i, j, bx, by = Var("i"), Var("j"), Var("bx"), Var("by")
    plane = ImageParam(UInt8, 2, "plane")
    output = Func("output")
    output[i, j, bx, by] = i16(plane[8 * bx + i, 8 * by + j]) - 128
    return spaces.pipeline(
        output,
        name="blocks_8x8",
        estimates={plane: [8 * ACROSS, 8 * DOWN], output: [8, 8, ACROSS, DOWN]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A plane with its axes split and exchanged."""
    height, width = inputs["plane"].shape
    blocks = inputs["plane"].reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2)
    return blocks.astype(np.int16) - np.int16(128)


GALLERY_PIPELINE = GalleryPipeline(
    name="blocks_8x8",
    kind=PipelineKind.TRANSPOSES,
    summary="eight megapixels in blocks of 8x8, 8 bits to int16",
    pipeline=pipeline,
    expected=expected,
    small={"plane": (104, 56), "output": (8, 8, 13, 7)},
)
