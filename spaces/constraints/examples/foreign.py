"""Funcs that foreign code computes, and legal neighbors."""

from __future__ import annotations

from spaces.constraints.examples.algorithms import called
from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import GPU
from spaces.model.directives.directives import schedule

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
