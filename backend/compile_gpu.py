"""Compiles a pipeline under a schedule for a GPU: CUDA C text, and a host program around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import evolve, frozen

from spaces.backend.access import AccessMode
from spaces.backend.cuda.host_part import HostFunction, compile_host_part
from spaces.backend.cuda.printer import PrintedProgram, print_kernels
from spaces.backend.float_mode_of_regions import mode_of_regions
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.ir.host import GlobalArray, GpuProgram, HostPart
from spaces.backend.ir.node import walk_nodes
from spaces.backend.lazy_value import LazyValue
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.pools import default_pool
from spaces.backend.lowering.gpu.passes import (
    gpu_passes,
    lower_gpu,
    lower_gpu_beside_empty_outputs,
    lower_gpu_cases,
)
from spaces.backend.require_verified import require_verified
from spaces.constraints.devices.device import Device, GpuDevice, device
from spaces.constraints.legality.argument_checks import check_given
from spaces.constraints.legality.preconditions import Precondition, size_preconditions
from spaces.constraints.legality.verdict import Verdict
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.recursion import in_one_chunk
from spaces.model.schedules.cases import cases, is_specialized
from spaces.model.schedules.schedule import Schedule


@in_one_chunk
def compile_gpu(
    checked: Verdict,
    *,
    arch: str | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    access_mode: AccessMode = AccessMode.PLAIN,
) -> GpuPipeline:
    """Compiles a pipeline under a verified schedule for a GPU. This needs no GPU.

    Args:
        checked: what :func:`spaces.verify` returns for a schedule that is legal for a GPU.
        arch: the architecture to read resources for. The default is the device that the schedule
            was verified for. The text is the same for all architectures.
        float_mode: how far float results of a GPU may differ from the expressions as written.
            Emulators and the parts that the CPU computes follow the expressions.
        access_mode: whether the code tests its accesses of memory where the text is emulated. If it
            does, a run raises :class:`~spaces.backend.access.AccessError` before it touches memory
            that is not its own.

    Raises:
        TypeError: ``checked`` is something else, such as a schedule that is not verified.
        ValueError: ``verify`` finds the schedule illegal, or judged it for a CPU; or no GPU is
            called ``arch``.
    """
    legal = require_verified("compile_gpu", checked, GpuDevice)
    target = _gpu("compile_gpu", arch or legal.device.name)
    recipe = GpuRecipe(
        legal.pipeline, legal.schedule, legal.device, target.name, float_mode, access_mode
    )
    return _compiled(recipe, lambda: legal.nest, size_preconditions(legal))


@in_one_chunk
def compile_gpu_unchecked(
    pipeline: Pipeline,
    schedule: Schedule,
    *,
    arch: str = "sm_80",
    float_mode: FloatMode = FloatMode.STRICT,
    access_mode: AccessMode = AccessMode.PLAIN,
) -> GpuPipeline:
    """Compiles the loop nest of ``schedule`` as it is written, legal or not.

    Use it for tests, and to see what an illegal schedule computes. :func:`compile_gpu` explains the
    other arguments.

    Raises:
        TypeError: ``pipeline`` or ``schedule`` is something else.
        ValueError: no GPU is called ``arch``.
        GpuLoweringError: a kernel cannot do what the schedule asks; ``verify`` says so too.
    """
    check_given("compile_gpu_unchecked", pipeline=pipeline, schedule=schedule)
    target = _gpu("compile_gpu_unchecked", arch)
    recipe = GpuRecipe(pipeline, schedule, None, target.name, float_mode, access_mode)
    return _compiled(recipe, lambda: loop_nest(pipeline, schedule), ())


@frozen
class GpuRecipe:
    """What a pipeline is compiled from; ``device`` is None if its schedule is not verified."""

    pipeline: Pipeline
    schedule: Schedule
    device: Device | None
    arch: str
    float_mode: FloatMode
    access_mode: AccessMode

    def compiled(self) -> GpuPipeline:
        """Compiles it.

        Raises:
            ValueError: the rules of this library find the schedule illegal.
        """
        if self.device is None:
            plain = partial(compile_gpu_unchecked, self.pipeline, self.schedule)
        else:
            plain = partial(compile_gpu, verify(self.pipeline, self.schedule, self.device))
        return plain(arch=self.arch, float_mode=self.float_mode, access_mode=self.access_mode)


def _compiled(
    recipe: GpuRecipe, nest: Callable[[], LoopNest], preconditions: tuple[Precondition, ...]
) -> GpuPipeline:
    """Compiles a recipe; ``nest`` gives the loop nest of a schedule without specializations.

    The first call in which only some outputs are empty compiles the program for such calls.
    """
    pipeline, schedule = recipe.pipeline, recipe.schedule
    passes = partial(gpu_passes, access_mode=recipe.access_mode)
    if is_specialized(schedule):
        programs = lower_gpu_cases(pipeline, tuple(cases(schedule)), passes)
    else:
        programs = (lower_gpu(nest(), passes),)

    @in_one_chunk
    def beside_empty_outputs() -> GpuPipeline:
        beside = lower_gpu_beside_empty_outputs(programs[0], pipeline, schedule, passes)
        printed, parts = _printed((beside,), recipe)
        return evolve(compiled, programs=(beside,), preconditions=(), printed=printed, parts=parts)

    printed, parts = _printed(programs, recipe)
    compiled = GpuPipeline(
        pipeline=pipeline,
        schedule=schedule,
        arch=recipe.arch,
        programs=programs,
        preconditions=preconditions,
        access_mode=recipe.access_mode,
        compile_again=recipe.compiled,
        printed=printed,
        parts=parts,
        beside_empty_outputs=LazyValue(beside_empty_outputs),
    )
    return compiled


def _gpu(function: str, arch: str) -> GpuDevice:
    target = device(arch)
    if not isinstance(target, GpuDevice):
        raise ValueError(f"{function} compiles for GPUs, and {target.name} is a CPU.")
    return target


def _printed(
    programs: tuple[GpuProgram, ...], recipe: GpuRecipe
) -> tuple[PrintedProgram, dict[str, HostFunction]]:
    """The text of all kernels, and the parts that the host computes, by name."""
    types = {buffer.name: buffer.type for buffer in programs[0].buffers}
    nodes = tuple(node for program in programs for node in walk_nodes(program.body))
    types |= {node.buffer: node.type for node in nodes if isinstance(node, GlobalArray)}
    parts = {
        node.name: compile_host_part(node, types, default_pool(), recipe.access_mode)
        for node in nodes
        if isinstance(node, HostPart)
    }
    kernels = (kernel for program in programs for kernel in program.kernels)
    printed = print_kernels(kernels, types, recipe.access_mode)
    mode = mode_of_regions(programs, recipe.float_mode)
    return evolve(printed, module=evolve(printed.module, float_mode=mode)), parts
