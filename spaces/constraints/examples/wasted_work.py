"""For each kind of advice on wasted work a schedule that gets it, and a neighbor that does not."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import SIZED
from spaces.model.directives.directives import schedule
from spaces.model.schedules.domain_order import Tail

_narrow = schedule(algorithms.blur(16, 2560))

_bounded = SIZED.split("x", "x", "xi", 8).func("bx").bound("x", 0, 1536)

_rows = SIZED.fuse("x", "y", "t")

EXAMPLES = (
    on_cpu(
        "advice.computed-again",
        _bounded.compute_at("by", "x"),
        _bounded.compute_at("by", "y"),
        "all of a bound in each tile",
    ),
    on_cpu(
        "advice.whole-dimension",
        _rows.split("t", "t", "ti", 512).func("bx").compute_at("by", "t"),
        SIZED.split("x", "x", "xi", 512).func("bx").compute_at("by", "x"),
        "fused loops",
    ),
    on_cpu(
        "advice.idle-lanes",
        _narrow.split("x", "x", "xi", 33, Tail.GUARD_WITH_IF).vectorize("xi"),
        _narrow.split("x", "x", "xi", 32, Tail.GUARD_WITH_IF).vectorize("xi"),
    ),
    on_gpu(
        "advice.idle-lanes",
        _narrow.gpu_tile("x", "y", "xi", "yi", 33, 2, Tail.GUARD_WITH_IF),
        _narrow.gpu_tile("x", "y", "xi", "yi", 32, 2, Tail.GUARD_WITH_IF),
        "of a warp",
    ),
    on_gpu(
        "advice.partial-warp",
        SIZED.gpu_tile("x", "y", "xi", "yi", 5, 3, Tail.GUARD_WITH_IF),
        SIZED.gpu_tile("x", "y", "xi", "yi", 8, 2, Tail.GUARD_WITH_IF),
    ),
)
