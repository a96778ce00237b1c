"""General product of matrices in single precision (BLAS' SGEMM): one of the pipelines of [A21]."""

from __future__ import annotations

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Param, Pipeline, RDom, Var
from spaces.apps.app import App
from spaces.apps.pictures import Array, Photograph, stretched, to_array

SIZE = 1536
"""Rows and columns of every matrix."""


def pipeline() -> Pipeline:
    """``alpha * A B + beta * C``, where a matrix is an array of rows: ``A(k, i)`` is in row i."""
    i, j = Var("i"), Var("j")
    a, b, c = (ImageParam(Float32, 2, name) for name in "ABC")
    alpha, beta = Param(Float32, "alpha", 0.75), Param(Float32, "beta", 0.25)
    product, output = Func("product"), Func("output")
    k = RDom([(0, a.width())], "k")
    product[j, i] = 0.0
    product[j, i] += a[k, i] * b[j, k]
    output[j, i] = alpha * product[j, i] + beta * c[j, i]
    square = [SIZE, SIZE]
    return spaces.pipeline(
        output, name="sgemm", estimates={a: square, b: square, c: square, output: square}
    )


def _inputs(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """A and C are the photograph in gray, B blurs along its rows and mirrors them."""
    gray = to_array(photograph, pipeline.image("A"))
    place = np.arange(gray.shape[1])
    apart = place[:, None] + place[None, :] - (gray.shape[1] - 1)
    blur = np.exp(-(apart**2) / 32.0)
    return {"A": gray, "B": (blur / blur.sum(axis=0)).astype(np.float32), "C": gray}


APP = App(
    "sgemm",
    "[A21]",
    "product of matrices of 1536 x 1536, float32",
    pipeline,
    picture=stretched,
    inputs=_inputs,
    paper_size=(SIZE, SIZE),
    sized_by="[S20]",
)
