"""Kernels that take just more memory than a device has, and neighbors just within."""

from __future__ import annotations

from spaces.constraints.devices.device import Device
from spaces.constraints.examples.example import SM75, SM80, Example, ExampleSubject, gpu, on_gpu
from spaces.constraints.examples.starts import D


def _strip(height: int, device: Device, registers: bool = True, width: int = 32) -> ExampleSubject:
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


def _shared(height: int, on: Device = SM75) -> ExampleSubject:
    """A block computes 1024 x ``height`` values and shares 1024 x (``height`` + 2) of bx."""
    result = (
        D.split("x", "x", "xi", 1024)
        .split("y", "y", "yi", height)
        .reorder("xi", "yi", "x", "y")
        .gpu_blocks("x", "y")
        .gpu_threads("xi")
    )
    return gpu(result.func("bx").compute_at("by", "x").gpu_threads("x"), on)


EXAMPLES = (
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
    Example("gpu.shared-bytes", _shared(80, SM80), _shared(79, SM80), "with the reserve"),
)
