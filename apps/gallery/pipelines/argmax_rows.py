"""The class with the largest score, for each of many objects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var, argmax
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

CLASSES, OBJECTS = 1000, 20000


def pipeline() -> Pipeline:
    """The index of the first largest value of each row."""
    y = Var("y")
    scores = ImageParam(Float32, 2, "scores")
    output = Func("output")
    r = RDom([(0, scores.width())], "r")
    output[y] = argmax(scores[r, y], "largest")[0]
    return spaces.pipeline(
        output, name="argmax_rows", estimates={scores: [CLASSES, OBJECTS], output: [OBJECTS]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's argmax."""
    places: Array = inputs["scores"].argmax(1)
    return places.astype(np.int32)


GALLERY_PIPELINE = GalleryPipeline(
    name="argmax_rows",
    kind=PipelineKind.REDUCTIONS,
    summary="index of the largest of 1000 values, 20000 rows, float32",
    pipeline=pipeline,
    expected=expected,
    small={"scores": (37, 53), "output": (53,)},
)
