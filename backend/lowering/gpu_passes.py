"""The passes of the GPU road in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from backend.gpu_program import GpuProgram
from backend.lowering.barriers import insert_barriers
from backend.lowering.flatten import flatten
from backend.lowering.gpu_loops import normalize_gpu_loops
from backend.lowering.gpu_memory import place_gpu_memory
from backend.lowering.kernels import carve_kernels
from backend.lowering.simplify import simplify
from backend.lowering.start import start
from backend.program import LoopProgram
from spaces.model.loopnest import LoopNest

GPU_PASSES: Mapping[str, Callable[[LoopProgram], LoopProgram]] = MappingProxyType(
    {
        "simplify": simplify,
        "gpu_loops": normalize_gpu_loops,
        "gpu_memory": place_gpu_memory,
        "simplify_again": simplify,
        "flatten": flatten,
        "barriers": insert_barriers,
    }
)
"""Each pass by name, in the order they run between :func:`~backend.lowering.start.start` and
:func:`~backend.lowering.kernels.carve_kernels`."""


def lower_gpu(
    nest: LoopNest, passes: Mapping[str, Callable[[LoopProgram], LoopProgram]] = GPU_PASSES
) -> GpuProgram:
    """The kernels and the host program of a loop nest."""
    program = start(nest)
    for lowering in passes.values():
        program = lowering(program)
    return carve_kernels(program)
