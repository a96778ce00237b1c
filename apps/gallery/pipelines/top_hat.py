"""A top hat: what is brighter than its surroundings and narrower than a square of 21x21."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt16, Var, boundary
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 2592, 1944
SIDE = 21


def pipeline() -> Pipeline:
    """The image less its opening, whose extremes run over reduction domains. Outside, the image
    repeats its edge pixels.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "image")
    edges = boundary.repeat_edge(image)
    lines, eroded, widened, output = map(Func, ("lines", "eroded", "widened", "output"))
    a, b, c, d = (RDom([(-(SIDE // 2), SIDE)], name) for name in "abcd")
    lines[x, y] = spaces.minimum(edges[x + a, y], "least_across")
    eroded[x, y] = spaces.minimum(lines[x, y + b], "least_down")
    widened[x, y] = spaces.maximum(eroded[x + c, y], "most_across")
    output[x, y] = image[x, y] - spaces.maximum(widened[x, y + d], "most_down")
    size = [WIDTH, HEIGHT]
    return spaces.pipeline(output, name="top_hat", estimates={image: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same by windows of an image with wider edges."""
    image = inputs["image"]
    padded = np.pad(image, SIDE - 1, mode="edge")
    eroded = sliding_window_view(padded, (SIDE, SIDE)).min((2, 3))
    opened: Array = sliding_window_view(eroded, (SIDE, SIDE)).max((2, 3))
    return image - opened


GALLERY_PIPELINE = GalleryPipeline(
    name="top_hat",
    kind=PipelineKind.MORPHOLOGY,
    summary="image less its opening by a square of 21x21, 16 bits",
    pipeline=pipeline,
    expected=expected,
    small={"image": (37, 23), "output": (37, 23)},
)
