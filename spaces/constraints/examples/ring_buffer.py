"""Ring buffers without memory for several iterations, and neighbors that have it."""

from __future__ import annotations

from spaces.constraints.examples.algorithms import called
from spaces.constraints.examples.example import on_cpu
from spaces.constraints.examples.starts import BX, SPACED
from spaces.model.directives.directives import schedule

ROWS = BX.compute_at("by", "y").hoist_storage_root()
READ = (
    schedule(called())
    .func("code")
    .compute_at("by", "y")
    .func("bx")
    .compute_at("by", "y")
    .hoist_storage_root()
)
STRIPS = SPACED.compute_at("by", "yi").hoist_storage_root()

EXAMPLES = (
    on_cpu("ring.extent", ROWS.ring_buffer(0), ROWS.ring_buffer(1)),
    on_cpu(
        "ring.hoisted",
        BX.compute_at("by", "y").ring_buffer(2),
        ROWS.ring_buffer(2),
    ),
    on_cpu(
        "ring.hoisted",
        BX.compute_root().ring_buffer(2),
        ROWS.ring_buffer(2),
        "stored at root",
    ),
    on_cpu(
        "storage.private-size",
        ROWS.ring_buffer(2).store_in("register"),
        BX.compute_at("by", "x").hoist_storage("by", "y").ring_buffer(2).store_in("register"),
        "of a ring buffer",
    ),
    on_cpu("ring.whole", STRIPS.memoize().ring_buffer(2), STRIPS.ring_buffer(2)),
    on_cpu("ring.whole", READ.ring_buffer(2), READ, "read by foreign code"),
)
