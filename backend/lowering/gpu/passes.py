"""The passes for GPUs in their order."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from spaces.backend.access import AccessMode
from spaces.backend.ir.host import GpuProgram, HostBlock
from spaces.backend.ir.program import BufferParameter, LoopProgram
from spaces.backend.lowering.analyses.hints import unhinted
from spaces.backend.lowering.cases import each, refusal
from spaces.backend.lowering.empty_outputs import (
    OutputAlone,
    outputs_alone,
    program_beside_empty_outputs,
)
from spaces.backend.lowering.flatten import flatten, flatten_with_dimensions
from spaces.backend.lowering.gpu.barriers import insert_barriers
from spaces.backend.lowering.gpu.kernels import outline_kernels
from spaces.backend.lowering.gpu.loops import normalize_gpu_loops
from spaces.backend.lowering.gpu.memory import place_gpu_memory
from spaces.backend.lowering.gpu.sizes import KernelSizes
from spaces.backend.lowering.passes import Pass, after_each, named
from spaces.backend.lowering.simplify import simplify
from spaces.backend.lowering.start import start
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.nest.loopnest import LoopNest
from spaces.model.schedules.cases import Case
from spaces.model.schedules.schedule import Schedule


@named("dense")
def dense(program: LoopProgram) -> LoopProgram:
    """Gives the caller's buffers dense strides: they lie in device memory without gaps."""
    buffers = (BufferParameter(b.name, b.type, b.dimensions, b.is_output) for b in program.buffers)
    return evolve(program, buffers=tuple(buffers))


def gpu_passes(sizes: KernelSizes, access_mode: AccessMode = AccessMode.PLAIN) -> tuple[Pass, ...]:
    """The passes in the order they run between :func:`~spaces.backend.lowering.start.start` and
    :func:`~spaces.backend.lowering.gpu.kernels.outline_kernels`. Hardened programs keep the
    dimensions of their memory, so that errors name coordinates.
    """
    return (
        simplify,
        normalize_gpu_loops,
        place_gpu_memory(sizes),
        evolve(simplify, name="simplify_again"),
        dense,
        flatten if access_mode is AccessMode.PLAIN else flatten_with_dimensions,
        insert_barriers,
    )


GPU_PASSES = tuple(one.name for one in gpu_passes(KernelSizes(extents={}, iterations={})))
"""The names of the passes, in order."""


def gpu_stages(
    nest: LoopNest, passes: Callable[[KernelSizes], tuple[Pass, ...]] = gpu_passes
) -> dict[str, LoopProgram]:
    """The program of a loop nest at the start, and after each pass."""
    return after_each(unhinted(start(nest)), passes(KernelSizes.of(nest)))


def lower_gpu(
    nest: LoopNest,
    passes: Callable[[KernelSizes], tuple[Pass, ...]] = gpu_passes,
    others: tuple[GpuProgram, ...] = (),
) -> GpuProgram:
    """The kernels and the host program of a loop nest; ``others`` are the programs of other cases
    of the same pipeline.

    Raises:
        GpuLoweringError: a kernel cannot do what the schedule asks.
    """
    last = list(gpu_stages(nest, passes).values())[-1]
    return outline_kernels(last, KernelSizes.of(nest), others)


def lower_gpu_cases(
    pipeline: Pipeline,
    cases: tuple[Case, ...],
    passes: Callable[[KernelSizes], tuple[Pass, ...]] = gpu_passes,
) -> tuple[GpuProgram, ...]:
    """A program for each case of a schedule; the host runs the program of the case that a call
    selects. The kernels of a program use the assumptions of its case.

    Raises:
        GpuLoweringError: a kernel cannot do what the schedule asks.
    """
    return each(pipeline, cases, lambda nest, others: lower_gpu(nest, passes, others), _refused)


def lower_gpu_beside_empty_outputs(
    program: GpuProgram,
    pipeline: Pipeline,
    schedule: Schedule,
    passes: Callable[[KernelSizes], tuple[Pass, ...]] = gpu_passes,
) -> GpuProgram:
    """The program of a pipeline of several outputs for calls in which some of them are empty and
    others are not. ``program`` is for calls in which all have elements.
    """
    alone: dict[OutputAlone, GpuProgram] = {}
    for one in outputs_alone(pipeline, schedule):
        alone[one] = lower_gpu(one.nest, passes, tuple(alone.values()))
    return program_beside_empty_outputs(program, alone)


def _refused(program: GpuProgram, assumptions: tuple[Expr, ...], message: str) -> GpuProgram:
    return evolve(
        program,
        size_checks=(refusal(message),),
        kernels=(),
        body=HostBlock(()),
        assumptions=assumptions,
    )
