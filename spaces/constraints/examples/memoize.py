"""Memoized Funcs whose values cannot be kept, and neighbors with values that can."""

from __future__ import annotations

from spaces.constraints.examples.algorithms import spaced
from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import BX, SPACED
from spaces.model.directives.directives import schedule

ROOT = SPACED.compute_root()
LANES = SPACED.func("by").vectorize("x", 8).func("bx")
KERNEL = schedule(spaced()).gpu_tile("x", "y", "xi", "yi", 32, 8).func("bx").compute_root()

EXAMPLES = (
    on_cpu("memoize.place", SPACED.memoize(), ROOT.memoize()),
    on_cpu("memoize.place", ROOT.func("by").memoize(), ROOT.memoize(), "an output"),
    on_cpu(
        "memoize.place",
        SPACED.store_at("by", "y").compute_at("by", "yi").memoize(),
        SPACED.compute_at("by", "yi").memoize(),
        "storage of several visits",
    ),
    on_cpu(
        "memoize.place",
        LANES.compute_at("by", "x_v").memoize(),
        LANES.compute_at("by", "x").memoize(),
        "vector lanes",
    ),
    on_cpu("memoize.image", BX.compute_root().memoize(), BX.compute_root()),
    on_gpu("memoize.device", KERNEL.memoize(), KERNEL),
)
