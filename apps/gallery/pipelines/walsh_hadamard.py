"""The Walsh-Hadamard transform of long lines of integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, Var, i32, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIZE, LINES = 1024, 2048
STAGES = SIZE.bit_length() - 1


def pipeline() -> Pipeline:
    """Ten stages; each is the sum, or the difference, of two values a power of two apart."""
    k, y = Var("k"), Var("y")
    lines = ImageParam(Int16, 2, "lines")
    stage = Func("widened")
    stage[k, y] = i32(lines[k, y])
    for n in range(STAGES):
        half, step = 1 << n, Func(f"stage_{n}")
        first = k / (2 * half) * (2 * half) + k % half
        low, high = stage[first, y], stage[first + half, y]
        step[k, y] = select(k / half % 2 == 0, low + high, low - high)
        stage = step
    size = [SIZE, LINES]
    return spaces.pipeline(stage, name="walsh_hadamard", estimates={lines: size, stage: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """A product with the matrix of signs."""
    k = np.arange(SIZE)
    signs = np.where(np.bitwise_count(k[:, None] & k) % 2, -1, 1)
    found: Array = (inputs["lines"].astype(np.int64) @ signs).astype(np.int32)
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="walsh_hadamard",
    kind=PipelineKind.BUTTERFLIES,
    summary="Walsh-Hadamard transform of 2048 lines of 1024 values, 16 bits to 32",
    pipeline=pipeline,
    expected=expected,
    small={"lines": (SIZE, 3), "stage_9": (SIZE, 3)},
)
