"""The passes of the GPU road in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from attrs import evolve

from backend.gpu_program import GpuProgram
from backend.lowering.barriers import insert_barriers
from backend.lowering.flatten import flatten
from backend.lowering.gpu_loops import normalize_gpu_loops
from backend.lowering.gpu_memory import place_gpu_memory
from backend.lowering.hints import unhinted
from backend.lowering.kernel_sizes import KernelSizes
from backend.lowering.kernels import carve_kernels
from backend.lowering.simplify import simplify
from backend.lowering.start import start
from backend.program import BufferParameter, LoopProgram
from spaces.model.nest.loopnest import LoopNest

Pass: TypeAlias = Callable[[LoopProgram], LoopProgram]


def dense(program: LoopProgram) -> LoopProgram:
    """Buffers of the caller lie in device memory without gaps, whatever strides they have."""
    buffers = (BufferParameter(b.name, b.type, b.dimensions, b.is_output) for b in program.buffers)
    return evolve(program, buffers=tuple(buffers))


def gpu_passes(sizes: KernelSizes) -> dict[str, Pass]:
    """Each pass by name, in the order they run between :func:`~backend.lowering.start.start` and
    :func:`~backend.lowering.kernels.carve_kernels`.
    """
    return {
        "simplify": simplify,
        "gpu_loops": normalize_gpu_loops,
        "gpu_memory": partial(place_gpu_memory, sizes=sizes),
        "simplify_again": simplify,
        "dense": dense,
        "flatten": flatten,
        "barriers": insert_barriers,
    }


def lower_gpu(
    nest: LoopNest, passes: Callable[[KernelSizes], Mapping[str, Pass]] = gpu_passes
) -> GpuProgram:
    """The kernels and the host program of a loop nest.

    Raises:
        GpuLoweringError: the schedule asks for what no kernel can do.
    """
    sizes = KernelSizes.of(nest)
    program = unhinted(start(nest))
    for lowering in passes(sizes).values():
        program = lowering(program)
    return carve_kernels(program, sizes)
