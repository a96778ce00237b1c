"""A schedule whose code takes long to compile, and a neighbor whose code does not."""

from __future__ import annotations

from spaces.constraints.examples.example import on_cpu
from spaces.constraints.examples.starts import D

EXAMPLES = (
    on_cpu(
        "advice.long-code", D.unroll("x", 12).unroll("y", 16), D.unroll("x", 10).unroll("y", 19)
    ),
)
