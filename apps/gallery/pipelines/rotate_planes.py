"""A picture turned by a quarter, as a camera held upright needs it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Pipeline, UInt16, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT, CHANNELS = 3024, 4032, 3


def pipeline() -> Pipeline:
    """Clockwise: the first column is the first line of the output, from its end."""
    x, y, c = Var("x"), Var("y"), Var("c")
    picture = ImageParam(UInt16, 3, "picture")
    output = Func("output")
    output[x, y, c] = picture[y, picture.height() - 1 - x, c]
    return spaces.pipeline(
        output,
        name="rotate_planes",
        estimates={
            picture: [HEIGHT, WIDTH, CHANNELS],
            output: [WIDTH, HEIGHT, CHANNELS],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's rotation of each plane."""
    return np.rot90(inputs["picture"], -1, (1, 2))


GALLERY_PIPELINE = GalleryPipeline(
    name="rotate_planes",
    kind=PipelineKind.TRANSPOSES,
    summary="three colour planes of 12 megapixels turned by 90 degrees, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"picture": (23, 37, 3), "output": (37, 23, 3)},
)
