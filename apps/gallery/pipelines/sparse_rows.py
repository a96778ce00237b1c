"""A sparse matrix with the same number of values in each row, times a vector (ELLPACK)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float64, Func, ImageParam, Int32, Pipeline, RDom, Var, clamp, f64
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array
from spaces.model.expressions.types import Type

ROWS, WIDTH = 500_000, 9


def pipeline() -> Pipeline:
    """The k-th values of all rows lie beside each other, as do the columns that they stand in."""
    i = Var("i")
    values, columns = ImageParam(Float64, 2, "values"), ImageParam(Int32, 2, "columns")
    vector = ImageParam(Float64, 1, "vector")
    output = Func("output")
    k = RDom([(0, WIDTH)], "k")
    output[i] = f64(0)
    output[i] += values[i, k] * vector[clamp(columns[i, k], 0, vector.width() - 1)]
    size = [ROWS, WIDTH]
    return spaces.pipeline(
        output,
        name="sparse_rows",
        estimates={values: size, columns: size, vector: [ROWS], output: [ROWS]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The product with the matrix written out."""
    values, columns, vector = (inputs[name] for name in ("values", "columns", "vector"))
    rows = np.arange(values.shape[1])
    whole = np.zeros((rows.size, vector.size))
    np.add.at(whole, (rows, np.clip(columns, 0, vector.size - 1)), values)
    found: Array = whole @ vector
    return found


def near_diagonal(dice: np.random.Generator, type: Type, shape: tuple[int, ...]) -> Array:
    """Columns near the diagonal, as the matrix of a mesh of some hundred points across has them."""
    columns = np.arange(shape[1]) + dice.normal(0, 500, shape)
    return columns.astype(type.dtype)


GALLERY_PIPELINE = GalleryPipeline(
    name="sparse_rows",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="sparse matrix of 500000 rows of 9 values, times a vector, float64",
    pipeline=pipeline,
    expected=expected,
    inputs={
        "values": around_zero(1.0),
        "columns": near_diagonal,
        "vector": around_zero(1.0),
    },
    small={"values": (737, WIDTH), "columns": (737, WIDTH), "vector": (737,), "output": (737,)},
    tolerance=1e-12,
)
