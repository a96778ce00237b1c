"""Funcs that foreign code computes, and legal neighbors."""

from __future__ import annotations

from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import GPU
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import UInt16


def called() -> Pipeline:
    """``by`` reads ``code``, which a C function computes from three neighbors in ``bx``."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")
    bx, code, by = Func("bx"), Func("code"), Func("by")
    bx[x, y] = image[x, y] * 2
    code.define_extern("filter_rows", [bx], UInt16, [x, y], needs=[[(x - 1, x + 1), (y, y)]])
    by[x, y] = code[x, y] + code[x, y + 1]
    return pipeline(by, estimates={by: [1536, 2560], image: [(-1, 1538), (0, 2561)]})


D = schedule(called())
ROWS = D.split("y", "y", "yi", 8).vectorize("x", 8).func("code")
STORED = D.func("bx").compute_root().func("code")

EXAMPLES = (
    on_gpu("foreign.gpu", D, GPU.func("bx").compute_root()),
    on_cpu("foreign.loops", STORED.compute_root().parallel("y"), STORED.compute_root()),
    on_cpu(
        "foreign.storage",
        ROWS.store_at("by", "y").compute_at("by", "yi"),
        ROWS.compute_at("by", "yi"),
    ),
    on_cpu("foreign.input", STORED.func("bx").compute_inline(), STORED),
    on_cpu(
        "foreign.input",
        ROWS.compute_at("by", "yi").func("bx").store_at("by", "y").compute_at("by", "yi"),
        ROWS.compute_at("by", "yi").func("bx").compute_at("by", "yi"),
        "a window",
    ),
    on_cpu(
        "foreign.place",
        D.func("bx").compute_at("code", "y"),
        D.func("bx").compute_root(),
    ),
    on_cpu(
        "foreign.place",
        ROWS.compute_at("by", "x_v"),
        ROWS.compute_at("by", "x"),
        "in lanes",
    ),
)
