"""Prefetches of nothing, and neighbors that prefetch."""

from __future__ import annotations

from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import GPU, D

ROWS = D.split("x", "x", "xi", 8).gpu_blocks("x").gpu_threads("xi")
"""A kernel for each row."""

EXAMPLES = (
    on_cpu("prefetch.loop", D.prefetch("input", "y", "x"), D.prefetch("input", "x", "y")),
    on_cpu(
        "prefetch.loop",
        D.vectorize("x", 8).prefetch("input", "x_v", "y"),
        D.vectorize("x", 8).prefetch("input", "x", "y"),
        "in a vector",
    ),
    on_gpu(
        "prefetch.gpu",
        GPU.prefetch("input", "y", "y"),
        GPU.func("bx").compute_root().prefetch("input", "y", "y"),
    ),
    on_gpu(
        "prefetch.gpu",
        ROWS.prefetch("bx", "y", "y").func("bx").compute_root(),
        ROWS.func("bx").compute_root().prefetch("input", "y", "y"),
        "around a kernel",
    ),
    on_cpu(
        "prefetch.unread",
        D.prefetch("input", "y", "y").func("bx").compute_root(),
        D.prefetch("bx", "y", "y").func("bx").compute_root(),
    ),
    on_cpu(
        "prefetch.unread",
        D.prefetch("bx", "y", "y").func("bx").compute_at("by", "y"),
        D.prefetch("bx", "y", "y").func("bx").store_root().compute_at("by", "y"),
        "of storage that is not there yet",
    ),
)
