"""Which GPU kernel computes a stage, with how many threads, and in which memory a Func lies."""

from __future__ import annotations

from spaces.constraints.devices.device import GpuDevice
from spaces.features.features import Features
from spaces.features.records import KernelFeatures, StageFeatures, volume
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber
from spaces.model.schedules.domain_order import LoopKind

ASSUMED_REGISTERS = 64
"""The registers that a thread is assumed to take."""


def stage_threads(stage: StageFeatures) -> SymbolicNumber:
    """Threads that a stage keeps busy in each block."""
    return volume(tuple(loop.trips for loop in stage.loops if loop.kind is LoopKind.GPU_THREAD))


def fits(device: GpuDevice, kernel: KernelFeatures) -> SymbolicCondition:
    """Whether a block has at most as many threads and as much shared memory as the device allows.
    Kernels with other blocks do not run.
    """
    return (kernel.threads <= device.max_threads_per_block) & (
        kernel.shared_bytes <= device.max_shared_bytes_per_block
    )


def kernel_of(stage: StageFeatures) -> tuple[str, int] | None:
    """The name of the kernel that computes a stage: the stage whose block loops it has. None
    outside kernels.
    """
    for loop in stage.loops:
        if loop.kind is LoopKind.GPU_BLOCK:
            return (loop.func, loop.stage)
    return None


def kinds_around_storage(features: Features, buffer: str) -> frozenset[LoopKind]:
    """The kinds of the loops around the storage of a buffer; empty for global memory."""
    if features.is_image[buffer]:
        return frozenset()
    func = features.func(buffer)
    return frozenset(loop.kind for loop in func.stages[0].loops[: func.store_depth])
