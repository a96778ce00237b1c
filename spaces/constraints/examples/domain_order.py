"""Loops, splits and orders that do not fit a stage, and neighbors that do."""

from __future__ import annotations

from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import POWERS, SUM, D

EXAMPLES = (
    on_cpu(
        "order.unknown-loop",
        D.split("y", "yo", "yi", 8).parallel("y"),
        D.split("y", "yo", "yi", 8).parallel("yo"),
    ),
    on_cpu("order.duplicate-loop", D.split("x", "xo", "y", 8), D.split("x", "xo", "x", 8)),
    on_cpu("order.missing-loop", D.loops("x"), D.loops("y", "x")),
    on_cpu("order.factor", D.split("x", "x", "xi", 0), D.split("x", "x", "xi", 1)),
    on_cpu(
        "order.partition-loop",
        D.vectorize("x", 8).never_partition("z"),
        D.vectorize("x", 8).never_partition("x_v", "y"),
    ),
    on_cpu(
        "order.tail",
        SUM.split("r.x", "ro", "ri", 4, "round_up").func("s").compute_root(),
        SUM.split("r.x", "ro", "ri", 4, "guard_with_if").func("s").compute_root(),
    ),
    on_gpu(
        "order.tail",
        D.gpu_single_thread().unroll("__thread", 4, "round_up"),
        D.gpu_single_thread().unroll("__thread", 4),
        "over a loop of gpu_single_thread",
    ),
    on_cpu("order.reduction", POWERS.reorder("r.y", "r.x"), POWERS.reorder("x", "r.x", "r.y", "y")),
    on_cpu("race.update", SUM.parallel("r.y"), SUM.parallel("y")),
    on_cpu("race.update", SUM.parallel("r.y"), SUM.atomic().parallel("r.y"), "accepted if atomic"),
    on_cpu(
        "order.reduction", POWERS.fuse("r.y", "r.x", "t"), POWERS.fuse("r.x", "r.y", "t"), "by fuse"
    ),
)
