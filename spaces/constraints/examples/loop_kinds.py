"""Loops that cannot be of their kind, and neighbors that can."""

from __future__ import annotations

from spaces.constraints.examples.example import on_cpu
from spaces.constraints.examples.starts import D

EXAMPLES = (
    on_cpu(
        "kind.inside-vectorized",
        D.split("x", "x", "xi", 8).reorder("y", "xi", "x").vectorize("xi").parallel("y"),
        D.split("x", "x", "xi", 8).vectorize("xi").parallel("y"),
    ),
    on_cpu("kind.vector-extent", D.vectorize("x"), D.vectorize("x", 8)),
    on_cpu("kind.unroll-extent", D.unroll("x"), D.unroll("x", 8)),
    on_cpu("kind.vector-lanes", D.vectorize("x", 1025), D.vectorize("x", 1024)),
    on_cpu(
        "kind.unroll-copies", D.unroll("x", 5).unroll("y", 205), D.unroll("x", 4).unroll("y", 256)
    ),
)
