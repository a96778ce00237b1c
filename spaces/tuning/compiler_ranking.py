"""The schedules that a search for a GPU found, ranked again by the registers of the compiler.

A cost model estimates the registers of threads. The compiler counts them, and says which values it
spills. It takes a second for a schedule, so a search asks it about its last few schedules only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic

from attrs import frozen

from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.compiled_apart import resources_within
from spaces.backend.cuda.errors import CudaCompileError
from spaces.backend.cuda.nvrtc import KernelResources
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.kernel_names import resources_by_stage
from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.batch import Batch
from spaces.cost.model import CostFunction, CostModel, RegisterModel
from spaces.cost.registry import cost_model, default_model
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.feature_memos import feature_memo
from spaces.enumerate.space.schedule_space import ScheduleSpace

COMPILING = 60.0
"""Seconds to compile all schedules."""


@frozen
class CompiledSchedule:
    """A schedule with the registers and spills that the compiler counts.

    Attributes:
        found: the schedule, with its cost for the registers that the compiler takes.
        kernels: the registers and spills of each kernel by name, none if all loops run on the CPU;
            None if the compiler refuses the schedule or has no time for it.
    """

    found: Found
    kernels: Mapping[str, KernelResources] | None

    @property
    def spilled_bytes(self) -> int:
        """The bytes that a thread of each kernel spills, added over the kernels."""
        return sum(one.spill_store_bytes for one in (self.kernels or {}).values())

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """A key that sorts compiled schedules before others, then those without spills before
        those with spills, then by cost.
        """
        return self.kernels is None, self.spilled_bytes > 0, self.found.cost


def rank_by_compiler(
    space: ScheduleSpace,
    found: Sequence[Found],
    model: str | CostModel | CostFunction | None = None,
    *,
    seconds: float = COMPILING,
) -> tuple[CompiledSchedule, ...]:
    """Ranks the schedules of a search for a GPU: first those whose threads spill nothing, then the
    others, both by cost. The cost counts the registers that the compiler takes, if the model can.

    >>> done = best(search(space, limits=Limits(top=4)))
    >>> first = rank_by_compiler(space, done.best)[0].found.schedule

    Args:
        space: the space of the search, for a GPU.
        found: legal schedules of the space with their costs, cheapest first.
        model: the cost model of the search; by default :func:`default_model`.
        seconds: the time to compile all of them. Those that have no time come last.

    Raises:
        CudaUnavailable: NVIDIA's compiler library is not here.
        ValueError: the space is for a CPU.
    """
    device = space.device
    if not isinstance(device, GpuDevice):
        raise ValueError(f"rank_by_compiler is for GPUs, and {device.name} is a CPU.")
    priced = cost_model(default_model(device) if model is None else model, device)
    end = monotonic() + seconds
    ranked = []
    for one in found:
        verdict = space.verdict(one.schedule)
        left = end - monotonic()
        kernels: Mapping[str, KernelResources] | None = None
        if isinstance(verdict, CheckedSchedule) and left > 0:
            compiled = compile_gpu(verdict)
            kernels = _count_resources(compiled, left)
            one = Found(_cost(space, one, priced, compiled, kernels or {}), one.schedule)
        ranked.append(CompiledSchedule(one, kernels))
    return tuple(sorted(ranked, key=lambda one: one.rank))


def _count_resources(compiled: GpuPipeline, seconds: float) -> Mapping[str, KernelResources] | None:
    """The resources of each kernel; None if the compiler does not count them in time."""
    if not compiled.kernels:
        return {}
    try:
        return resources_within(compiled.source, compiled.arch, seconds)
    except (CudaCompileError, TimeoutError):
        return None


def _cost(
    space: ScheduleSpace,
    found: Found,
    model: CostModel,
    compiled: GpuPipeline,
    kernels: Mapping[str, KernelResources],
) -> float:
    """The cost of a schedule with the registers of its kernels; the cost stays as it was if these
    cannot be matched with the kernels of the features.
    """
    batch = Batch.of(space.pipeline, found.schedule, memo=feature_memo(space.nests))
    counted = resources_by_stage(compiled, kernels, batch.features)
    if not isinstance(model, RegisterModel) or not counted:
        return found.cost
    known = model.with_registers({stage: one.registers for stage, one in counted.items()})
    return float(known.cost(batch))
