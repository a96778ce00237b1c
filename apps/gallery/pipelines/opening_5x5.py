"""A morphological opening: bright spots smaller than a square of 5x5 vanish."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, UInt8, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 3840, 2160
SIDE = 5


def pipeline() -> Pipeline:
    """Minima along lines and columns, then maxima along lines and columns."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    lines, eroded, widened, output = map(Func, ("lines", "eroded", "widened", "output"))
    lines[x, y] = spaces.min(*(image[x + d, y] for d in range(SIDE)))
    eroded[x, y] = spaces.min(*(lines[x, y + d] for d in range(SIDE)))
    widened[x, y] = spaces.max(*(eroded[x + d, y] for d in range(SIDE)))
    output[x, y] = spaces.max(*(widened[x, y + d] for d in range(SIDE)))
    around = [WIDTH + 2 * SIDE - 2, HEIGHT + 2 * SIDE - 2]
    return spaces.pipeline(
        output, name="opening_5x5", estimates={image: around, output: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """Minima of whole windows, then maxima of whole windows."""
    eroded = sliding_window_view(inputs["image"], (SIDE, SIDE)).min((2, 3))
    opened: Array = sliding_window_view(eroded, (SIDE, SIDE)).max((2, 3))
    return opened


GALLERY_PIPELINE = GalleryPipeline(
    name="opening_5x5",
    kind=PipelineKind.MORPHOLOGY,
    summary="opening by a square of 5x5 in four passes, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (45, 31), "output": (37, 23)},
)
