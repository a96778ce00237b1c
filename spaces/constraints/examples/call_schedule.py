"""Levels that do not enclose the uses of a Func, and neighbors that do."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import BX, GPU, SUM, TILED, D
from spaces.model.directives.directives import schedule

IGNORED = schedule(algorithms.ignored())
MULTIPLYING = schedule(algorithms.multiplying(3, 700))

EXAMPLES = (
    on_cpu("call.inline-size", MULTIPLYING, MULTIPLYING.func("f1").compute_root()),
    on_cpu("call.output-at-root", D.compute_inline(), D.compute_root()),
    on_cpu("call.inline-update", SUM.compute_inline(), SUM.compute_at("out", "x")),
    on_cpu("call.inline-storage", BX.store_root(), BX.store_root().compute_root()),
    on_cpu(
        "call.compute-level",
        D.split("y", "y", "yi", 4).func("bx").compute_at("by", "yo"),
        D.split("y", "y", "yi", 4).func("bx").compute_at("by", "yi"),
    ),
    on_cpu(
        "call.store-level",
        TILED.func("bx").store_at("by", "yi").compute_at("by", "x"),
        TILED.func("bx").store_at("by", "y").compute_at("by", "x"),
    ),
    on_cpu("call.unread", IGNORED.func("g").compute_root(), IGNORED),
    on_cpu(
        "race.shared-storage",
        D.parallel("y").func("bx").store_root().compute_at("by", "y"),
        D.parallel("y").func("bx").compute_at("by", "y"),
    ),
    on_cpu(
        "call.inline-storage",
        BX.hoist_storage_root(),
        BX.compute_at("by", "y").hoist_storage_root(),
        "hoisted",
    ),
    on_gpu(
        "race.shared-storage",
        GPU.func("bx").store_at("by", "x").compute_at("by", "xi"),
        GPU.func("bx").store_at("by", "xi").compute_at("by", "xi"),
        "one thread's values in the memory of all",
    ),
)
