"""Folds and memory that cannot hold a Func, and neighbors that can."""

from __future__ import annotations

from spaces.constraints.examples.algorithms import slopes
from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import BX, GPU, SPACED, D
from spaces.model.directives.directives import Directives, schedule


def _both_on_the_stack(rows: int) -> Directives:
    tiled = schedule(slopes()).tile("x", "y", "xi", "yi", 512, rows)
    for func in ("dx", "dy"):
        tiled = tiled.func(func).compute_at("out", "x").store_in("stack")
    return tiled


EXAMPLES = (
    on_cpu(
        "storage.fold-dimension",
        BX.compute_root().fold_storage("z", 4),
        BX.compute_at("by", "y").fold_storage("y", 4),
    ),
    on_cpu("storage.fold-output", D.fold_storage("y", 4), D),
    on_cpu(
        "storage.fold-factor",
        BX.compute_at("by", "y").fold_storage("y", 0),
        BX.compute_at("by", "y").fold_storage("y", 2**31 - 1),
    ),
    on_cpu(
        "storage.fold-direction",
        BX.store_root().compute_at("by", "y").fold_storage("y", 3, False),
        BX.store_root().compute_at("by", "y").fold_storage("y", 3, True),
    ),
    on_cpu(
        "storage.fold-too-small",
        BX.store_root().compute_at("by", "y").fold_storage("y", 2),
        BX.store_root().compute_at("by", "y").fold_storage("y", 3),
    ),
    on_gpu(
        "storage.memory-kind",
        GPU.func("bx").compute_at("by", "x").gpu_threads("x").store_in("register"),
        GPU.func("bx").compute_at("by", "x").gpu_threads("x").store_in("gpu_shared"),
    ),
    on_gpu(
        "storage.host-memory-in-kernel",
        GPU.func("bx").compute_root().store_in("stack"),
        GPU.func("bx").compute_root().store_in("heap"),
    ),
    on_cpu(
        "storage.private-size",
        BX.compute_at("by", "y").store_in("register"),
        BX.compute_at("by", "x").store_in("register"),
    ),
    on_cpu(
        "advice.stack-size",
        BX.compute_at("by", "y").store_in("stack"),
        BX.compute_at("by", "x").store_in("stack"),
    ),
    on_cpu(
        "storage.stack-bytes",
        D.tile("x", "y", "xi", "yi", 512, 255).func("bx").compute_at("by", "x").store_in("stack"),
        D.tile("x", "y", "xi", "yi", 512, 254).func("bx").compute_at("by", "x").store_in("stack"),
    ),
    on_cpu("storage.stack-total", _both_on_the_stack(129), _both_on_the_stack(128)),
    on_cpu(
        "storage.kept-values",
        SPACED.store_at("by", "y").compute_at("by", "yi"),
        SPACED.compute_at("by", "yi"),
    ),
    on_gpu(
        "storage.memory-kind",
        GPU.func("bx").compute_root().store_in("gpu_shared"),
        GPU.func("bx").compute_root().store_in("heap"),
        "shared memory outside kernels",
    ),
    on_gpu(
        "storage.memory-kind",
        GPU.func("bx").compute_at("by", "xi").store_in("heap"),
        GPU.func("bx").compute_at("by", "xi").store_in("stack"),
        "the heap inside kernels",
    ),
)
