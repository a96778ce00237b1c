"""Pictures of 16 colours, two pixels in a byte, to packed RGBA."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, UInt32, Var, i32, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, FRAMES = 320, 200, 60


def pipeline() -> Pipeline:
    """The high four bits of a byte are the left pixel. Each frame has a palette."""
    x, y, n = Var("x"), Var("y"), Var("n")
    packed, palettes = ImageParam(UInt8, 3, "packed"), ImageParam(UInt32, 2, "palettes")
    output = Func("output")
    byte = i32(packed[x / 2, y, n])
    output[x, y, n] = palettes[select(x % 2 == 0, byte >> 4, byte & 15), n]
    return spaces.pipeline(
        output,
        name="packed_palette",
        estimates={
            packed: [WIDTH // 2, HEIGHT, FRAMES],
            palettes: [16, FRAMES],
            output: [WIDTH, HEIGHT, FRAMES],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Bytes pulled apart, then gathered frame by frame."""
    packed = inputs["packed"]
    indices = np.stack([packed // 16, packed % 16], axis=-1).reshape(*packed.shape[:2], -1)
    pairs = zip(inputs["palettes"], indices, strict=True)
    frames: Array = np.stack([palette[places] for palette, places in pairs])
    return frames


GALLERY_PIPELINE = GalleryPipeline(
    name="packed_palette",
    kind=PipelineKind.LOOKUPS,
    summary="60 frames of 320x200 from 4-bit indices to packed RGBA, 32 bits",
    pipeline=pipeline,
    expected=expected,
    small={"packed": (19, 23, 3), "palettes": (16, 3), "output": (38, 23, 3)},
)
