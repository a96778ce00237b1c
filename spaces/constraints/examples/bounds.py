"""Bounds that are exceeded or unknown, and neighbors that hold."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_cpu
from spaces.constraints.examples.starts import BX, SIZED, D
from spaces.model.directives.directives import schedule

HUGE = schedule(algorithms.blur(65534, 65538))
CHAIN = schedule(algorithms.chain())
SCATTERED = schedule(algorithms.scattered())

EXAMPLES = (
    on_cpu(
        "bounds.fused-extent",
        HUGE.fuse("x", "y", "t"),
        HUGE.split("x", "x", "xi", 32767).fuse("xi", "y", "t"),
    ),
    on_cpu(
        "bounds.explicit-dimension",
        BX.compute_root().align_bounds("z", 4),
        BX.compute_root().align_bounds("x", 4),
    ),
    on_cpu(
        "bounds.explicit-range",
        BX.compute_root().align_extent("x", 0),
        BX.compute_root().align_extent("x", 1),
    ),
    on_cpu(
        "bounds.explicit-too-small",
        BX.compute_at("by", "y").bound_extent("y", 2),
        BX.compute_at("by", "y").bound_extent("y", 3),
    ),
    on_cpu(
        "bounds.explicit-too-small",
        SIZED.func("bx").compute_root().bound("y", 0, 2561),
        SIZED.func("bx").compute_root().bound("y", 0, 2562),
        "at the estimated sizes",
    ),
    on_cpu(
        "bounds.impossible-estimates",
        schedule(algorithms.blur_of_image((96, 64), (98, 65))),
        schedule(algorithms.blur_of_image((96, 64), (98, 66))),
    ),
    on_cpu("bounds.unbounded", SCATTERED.func("g").compute_root(), SCATTERED),
    on_cpu(
        "bounds.floats",
        schedule(algorithms.bins(2.0**-31)).func("g").compute_root(),
        schedule(algorithms.bins(2.0**-30)).func("g").compute_root(),
    ),
    on_cpu(
        "bounds.smaller-than-tile",
        SIZED.split("x", "x", "xi", 1537),
        SIZED.split("x", "x", "xi", 1536),
    ),
    on_cpu(
        "bounds.output-overrun",
        D.split("x", "x", "xi", 8).vectorize("xi", 9),
        D.split("x", "x", "xi", 9).vectorize("xi", 8),
    ),
    on_cpu(
        "bounds.image-overrun",
        SIZED.split("x", "x", "xi", 8).func("bx").compute_at("by", "x").vectorize("x", 9),
        SIZED.split("x", "x", "xi", 9).func("bx").compute_at("by", "x").vectorize("x", 8),
    ),
    on_cpu(
        "bounds.output-overrun",
        CHAIN.split("x", "x", "xi", 33, "round_up"),
        CHAIN.split("x", "x", "xi", 32, "round_up"),
        "whole tiles over the end",
    ),
)
