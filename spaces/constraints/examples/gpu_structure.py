"""Loops that do not make a kernel, and neighbors that do."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import Example, cpu, gpu, on_gpu
from spaces.constraints.examples.starts import GPU, TILED, D
from spaces.model.directives.directives import schedule

GUARDED = schedule(algorithms.guarded())

EXAMPLES = (
    Example("gpu.required-values", gpu(GUARDED), cpu(GUARDED)),
    Example("gpu.device", cpu(GPU), gpu(GPU)),
    on_gpu(
        "gpu.threads-outside-blocks",
        D.split("x", "x", "xi", 32).gpu_threads("xi"),
        D.split("x", "x", "xi", 32).gpu_blocks("x").gpu_threads("xi"),
    ),
    on_gpu(
        "gpu.nested-blocks",
        GPU.func("bx").compute_at("by", "x").gpu_blocks("y"),
        GPU.func("bx").compute_at("by", "x").gpu_threads("y"),
    ),
    on_gpu(
        "gpu.nested-threads",
        GPU.func("bx").compute_at("by", "xi").gpu_threads("y"),
        GPU.func("bx").compute_at("by", "xi").serial("y"),
    ),
    on_gpu(
        "gpu.blocks-inside-threads",
        TILED.reorder("xi", "x", "yi", "y").gpu_blocks("x", "y").gpu_threads("yi"),
        TILED.reorder("xi", "yi", "x", "y").gpu_blocks("x", "y").gpu_threads("yi"),
    ),
    on_gpu(
        "gpu.loop-between",
        TILED.reorder("xi", "x", "yi", "y").gpu_blocks("x", "y").gpu_threads("xi"),
        TILED.reorder("xi", "yi", "x", "y").gpu_blocks("x", "y").gpu_threads("xi"),
    ),
    on_gpu(
        "gpu.dimensions",
        D.split("x", "x", "xi", 8).split("y", "y", "yi", 8).gpu_blocks(*"xy", "xi", "yi"),
        D.split("x", "x", "xi", 8).split("y", "y", "yi", 8).gpu_blocks("x", "y", "yi"),
    ),
    on_gpu(
        "gpu.level-between",
        GPU.func("bx").compute_at("by", "y").gpu_threads("x"),
        GPU.func("bx").compute_at("by", "x").gpu_threads("x"),
    ),
    on_gpu(
        "gpu.parallel-in-kernel",
        GPU.func("bx").compute_at("by", "x").parallel("y"),
        GPU.func("bx").compute_root().parallel("y"),
    ),
    on_gpu(
        "gpu.kernel-in-parallel",
        TILED.parallel("y").gpu_blocks("x").gpu_threads("xi", "yi"),
        TILED.serial("y").gpu_blocks("x").gpu_threads("xi", "yi"),
    ),
)
