"""What an asynchronous Func reads too early, and neighbors that are there in time."""

from __future__ import annotations

from spaces.constraints.examples.algorithms import chain
from spaces.constraints.examples.example import on_cpu
from spaces.model.directives.directives import schedule

AHEAD = schedule(chain()).func("b").store_root().compute_at("c", "y").async_().func("a")

RING = schedule(chain()).func("b").hoist_storage_root().compute_at("c", "y").ring_buffer(2)
IN_TURN = RING.async_().func("a").compute_at("c", "y")

EXAMPLES = (
    on_cpu(
        "async.producers",
        AHEAD.compute_at("c", "y"),
        AHEAD.compute_at("b", "y"),
    ),
    on_cpu(
        "async.producers",
        AHEAD.store_root().compute_at("c", "y"),
        AHEAD.store_root().compute_at("c", "y").async_(),
        "stored around its reader",
    ),
    on_cpu(
        "async.producers",
        IN_TURN,
        IN_TURN.store_root().async_(),
        "of a ring buffer",
    ),
)
