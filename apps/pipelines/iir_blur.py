"""Blur by a recursive filter that runs down and up, then right and left. One of the pipelines of
[A21].
"""

from __future__ import annotations

import spaces
from spaces import Expr, Float32, Func, ImageParam, Param, Pipeline, RDom, Var, undef
from spaces.apps.app import App
from spaces.apps.pictures import clipped
from spaces.model.expressions.expr import ExprLike

WIDTH, HEIGHT, CHANNELS = 1536, 2560, 3

ALPHA = 0.1
"""Weight of a pixel against what the filter remembers."""


def pipeline() -> Pipeline:
    """Filters the columns of the picture, then the columns of the transposed result."""
    image = ImageParam(Float32, 3, "input")
    alpha = Param(Float32, "alpha", ALPHA)
    columns = _blurred_columns(image, "down", image.height(), alpha)
    output = _blurred_columns(columns, "across", image.width(), alpha)
    size = [WIDTH, HEIGHT, CHANNELS]
    return spaces.pipeline(output, name="iir_blur", estimates={image: size, output: size})


def _blurred_columns(source: ImageParam | Func, name: str, height: Expr, alpha: Param) -> Func:
    """``source`` with its columns filtered from the first line to the last and back; transposed."""
    x, y, c = Var("x"), Var("y"), Var("c")
    blurred = Func(f"{name}_filter")
    line = RDom([(1, height - 1)], name)
    blurred[x, y, c] = undef(Float32)
    blurred[x, 0, c] = source[x, 0, c]
    forth: ExprLike = line.as_expr()
    blurred[x, forth, c] = _mixed(blurred[x, forth - 1, c], source[x, forth, c], alpha)
    back = height - 1 - line
    blurred[x, back, c] = _mixed(blurred[x, back + 1, c], blurred[x, back, c], alpha)
    transposed = Func(name)
    transposed[x, y, c] = blurred[y, x, c]
    return transposed


def _mixed(remembered: ExprLike, here: ExprLike, alpha: Param) -> Expr:
    return (1.0 - alpha) * remembered + alpha * here


APP = App(
    "iir_blur",
    "[A21]",
    "recursive blur along columns and rows, RGB",
    pipeline,
    picture=clipped,
    paper_size=(WIDTH, HEIGHT),
    sized_by="[S20]",
)
