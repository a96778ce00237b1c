"""Kernels just beyond what a device has, and neighbors just within."""

from __future__ import annotations

from spaces.constraints.devices import Device
from spaces.model.directives.directives import Directives, schedule
from tests.constraints import algorithms
from tests.constraints.examples.example import SM75, SM80, Example, Subject, gpu, on_gpu
from tests.constraints.examples.starts import D

VOLUME = schedule(algorithms.volume())


def _strip(height: int, device: Device, registers: bool = True, width: int = 32) -> Subject:
    """Each thread computes ``height`` values and, for itself, the ``height + 2`` of bx below."""
    result = (
        D.split("x", "x", "xi", width)
        .split("y", "y", "yi", height)
        .reorder("yi", "xi", "x", "y")
        .gpu_blocks("x", "y")
        .gpu_threads("xi")
        .func("bx")
        .compute_at("by", "xi")
    )
    return gpu(result.store_in("register") if registers else result, device)


def _shared(height: int, on: Device = SM75) -> Subject:
    """A block computes 1024 x ``height`` values and shares 1024 x (``height`` + 2) of bx."""
    result = (
        D.split("x", "x", "xi", 1024)
        .split("y", "y", "yi", height)
        .reorder("xi", "yi", "x", "y")
        .gpu_blocks("x", "y")
        .gpu_threads("xi")
    )
    return gpu(result.func("bx").compute_at("by", "x").gpu_threads("x"), on)


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
    on_gpu(
        "gpu.allocation-size",
        D.gpu_blocks("y").func("bx").compute_at("by", "y"),
        D.gpu_blocks("y").func("bx").compute_at("by", "x"),
    ),
    Example("gpu.shared-bytes", _shared(31), _shared(30)),
    Example("gpu.registers", _strip(509, SM80), _strip(508, SM80)),
    Example("gpu.occupancy", _strip(127, SM80, width=1024), _strip(126, SM80, width=1024)),
    Example(
        "gpu.local-bytes",
        _strip(262143, SM80, registers=False),
        _strip(262142, SM80, registers=False),
    ),
    on_gpu("gpu.threads-per-block", _corner(31), _corner(30), "wider and higher than the tile"),
    Example("gpu.shared-bytes", _shared(80, SM80), _shared(79, SM80), "with the reserve"),
)
