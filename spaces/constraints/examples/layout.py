"""Layouts, bounds and hoisting of storage that do not fit, and neighbors that do."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import BX, D
from spaces.model.directives.directives import schedule

_folded = BX.store_root().compute_at("by", "y").fold_storage("y", 4)
_columns = (
    D.split("x", "x", "xi", 32)
    .split("y", "y", "yi", 4)
    .reorder("yi", "xi", "x", "y")
    .gpu_blocks("x", "y")
    .gpu_threads("xi")
)
_harmonic = schedule(algorithms.harmonic()).func("f").compute_at("out", "x")

EXAMPLES = (
    on_cpu(
        "storage.layout-dimension",
        BX.compute_root().reorder_storage("y", "z"),
        BX.compute_root().reorder_storage("y", "x"),
    ),
    on_cpu(
        "storage.layout-dimension",
        BX.compute_root().reorder_storage("y", "y"),
        BX.compute_root().reorder_storage("y", "x"),
        "a dimension twice",
    ),
    on_cpu(
        "storage.layout-output", D.align_storage("x", 16), BX.compute_root().align_storage("x", 16)
    ),
    on_cpu(
        "storage.layout-range",
        BX.compute_root().align_storage("x", 0),
        BX.compute_root().align_storage("x", 1),
    ),
    on_cpu(
        "storage.bound-too-small",
        BX.compute_at("by", "y").bound_storage("y", 2),
        BX.compute_at("by", "y").bound_storage("y", 3),
    ),
    on_cpu(
        "storage.bound-too-small",
        _folded.bound_storage("y", 3),
        _folded.bound_storage("y", 4),
        "folded",
    ),
    on_cpu(
        "call.hoist-level",
        BX.compute_at("by", "y").hoist_storage("by", "x"),
        BX.compute_at("by", "x").hoist_storage("by", "y"),
    ),
    on_cpu(
        "call.hoist-level",
        D.parallel("y").func("bx").compute_at("by", "x").hoist_storage_root(),
        D.parallel("y").func("bx").compute_at("by", "x").hoist_storage("by", "y"),
        "outside a parallel loop",
    ),
    on_cpu(
        "storage.hoist-size", _harmonic.hoist_storage_root(), _harmonic.hoist_storage("out", "y")
    ),
    on_gpu(
        "gpu.hoisted-storage",
        _columns.func("bx").compute_at("by", "yi").hoist_storage("by", "xi"),
        _columns.func("bx").compute_at("by", "yi"),
    ),
)
