"""Groups of eight values, each sorted by a bitonic network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Expr, Func, ImageParam, Pipeline, UInt32, Var, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

GROUPS = 1 << 19
SIZE = 8


def pipeline() -> Pipeline:
    """Six stages of four exchanges; a stage is a Tuple of the eight values of a group."""
    k, g = Var("k"), Var("g")
    keys = ImageParam(UInt32, 2, "keys")
    output = Func("output")
    values: list[Expr] = [keys[i, g] for i in range(SIZE)]
    for block, distance in ((2, 1), (4, 2), (4, 1), (8, 4), (8, 2), (8, 1)):
        for i in range(SIZE):
            j = i ^ distance
            if i < j:
                low, high = spaces.min(values[i], values[j]), spaces.max(values[i], values[j])
                values[i], values[j] = (high, low) if i & block else (low, high)
        stage = Func(f"merged_{block}_{distance}")
        stage[g] = tuple(values)
        values = [*stage[g]]
    output[k, g] = mux(k, values)
    size = [SIZE, GROUPS]
    return spaces.pipeline(output, name="bitonic_sort_8", estimates={keys: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """Each group sorted."""
    return np.sort(inputs["keys"], axis=1)


GALLERY_PIPELINE = GalleryPipeline(
    name="bitonic_sort_8",
    kind=PipelineKind.SORTING,
    summary="half a million groups of eight values sorted, 32 bits",
    pipeline=pipeline,
    expected=expected,
    small={"keys": (SIZE, 37), "output": (SIZE, 37)},
)
