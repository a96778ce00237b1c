"""The features of one structure on one device, from which named features are read."""

from __future__ import annotations

from functools import cached_property, lru_cache

from attrs import define, evolve

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.constraints.devices.occupancy import blocks_per_sm, warps_per_block
from spaces.features.extraction import extract_features, image_extents
from spaces.features.features import Features
from spaces.features.in_kernels import ASSUMED_REGISTERS, kernel_of
from spaces.features.records import FuncFeatures, KernelFeatures, StageFeatures, volume
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, minimum
from spaces.model.schedules.cases import followed, is_specialized
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule


@define
class StructureFeatures:
    """One structure on one device, from which named features are read.

    Attributes:
        only: the Funcs that count; None for all.
    """

    pipeline: Pipeline
    schedule: Schedule
    device: Device
    only: frozenset[str] | None = None

    @cached_property
    def features(self) -> Features:
        """All features, as formulas; of a specialized schedule the case at the estimates.

        Raises:
            LevelError, UnboundedError: the schedule has no loop nest.
        """
        schedule = self.schedule
        if is_specialized(schedule):
            schedule = followed(schedule, self.pipeline.sizes())
        sizes = {name: Variable(Int32, name) for name in self.pipeline.sizes()}
        found = evolve(
            extract_features(self.pipeline, schedule),
            image_extents=image_extents(self.pipeline, sizes),
        )
        if self.only is None:
            return found
        return evolve(found, funcs=tuple(func for func in found.funcs if func.name in self.only))

    def func(self, name: str) -> FuncFeatures | None:
        """The features of one Func; None if it is inlined or absent."""
        return self.features.computed(name)

    def stage(self, func: str, stage: int) -> StageFeatures | None:
        """The features of a stage; None if its Func is inlined or absent."""
        found = self.func(func)
        return found.stages[stage] if found is not None and stage < len(found.stages) else None

    def kernel(self, func: str, stage: int) -> KernelFeatures | None:
        """The kernel that computes a stage; None outside kernels."""
        inside = self.stage(func, stage)
        owner = None if inside is None else kernel_of(inside)
        kernels = self.features.kernels
        return next((one for one in kernels if (one.func, one.stage) == owner), None)


structure_features = lru_cache(maxsize=256)(StructureFeatures)
"""The features of a structure, kept for the next formula about it."""


def parallel_iterations(stage: StageFeatures) -> SymbolicNumber:
    """The iterations of all parallel loops around a stage."""
    return volume(tuple(loop.trips for loop in stage.loops if loop.kind is LoopKind.PARALLEL))


def occupancy_of(about: StructureFeatures, kernel: KernelFeatures) -> SymbolicNumber:
    """The warps of a kernel that one multiprocessor holds, in percent of the most."""
    assert isinstance(about.device, GpuDevice)
    return occupancy_on(about.device, kernel)


def occupancy_on(device: GpuDevice, kernel: KernelFeatures) -> SymbolicNumber:
    """The warps of a kernel that one multiprocessor of a device holds, in percent of the most. A
    thread is assumed to take 64 registers, fewer in large blocks.
    """
    threads = kernel.threads
    most = min(ASSUMED_REGISTERS, device.max_registers_per_thread)
    registers = minimum(device.registers_per_sm // maximum(threads, 1), most)
    held = blocks_per_sm(device, threads, registers, kernel.shared_bytes)
    return held * warps_per_block(device, threads) * 100 // device.max_warps_per_sm
