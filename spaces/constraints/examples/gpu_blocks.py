"""Blocks and grids just beyond what a device allows, and neighbors just within."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_gpu
from spaces.constraints.examples.starts import D
from spaces.model.directives.directives import Directives, schedule

VOLUME = schedule(algorithms.volume())


def _corner(width: int) -> Directives:
    """The block is one wider and one higher than the tile of ``width`` x 32."""
    result = schedule(algorithms.corner()).gpu_tile("x", "y", "xi", "yi", width, 32)
    return result.func("p").compute_at("q", "x").gpu_threads("x", "y")


def _tall(height: int) -> Directives:
    return schedule(algorithms.blur(32, height)).gpu_tile("x", "y", "xi", "yi", 32, 1)


EXAMPLES = (
    on_gpu(
        "gpu.thread-extent",
        D.gpu_blocks("y").gpu_threads("x"),
        D.split("x", "x", "xi", 32).gpu_blocks("y", "x").gpu_threads("xi"),
    ),
    on_gpu(
        "gpu.threads-per-block",
        D.gpu_tile("x", "y", "xi", "yi", 32, 31)
        .func("bx")
        .compute_at("by", "x")
        .gpu_threads("x", "y"),
        D.gpu_tile("x", "y", "xi", "yi", 32, 30)
        .func("bx")
        .compute_at("by", "x")
        .gpu_threads("x", "y"),
    ),
    on_gpu(
        "gpu.block-dimension",
        VOLUME.gpu_tile("x", "y", "z", "xi", "yi", "zi", 2, 2, 65),
        VOLUME.gpu_tile("x", "y", "z", "xi", "yi", "zi", 2, 2, 64),
    ),
    on_gpu("gpu.grid-dimension", _tall(65536), _tall(65535)),
    on_gpu("gpu.threads-per-block", _corner(31), _corner(30), "wider and higher than the tile"),
)
