"""The roofline of a processor: peak arithmetic or memory bandwidth, whichever takes longer.

A Func takes at least the time of its operations at the peak rate, and at least the time of its
bytes at the bandwidth [W09]. The ceilings below the roof count, too: lanes, cores or threads that a
stage leaves idle lower the peak. Values that a thread of a GPU keeps in local memory take bytes and
operations. The Funcs of a schedule run one after another, those of a GPU kernel between its
barriers, so their times add up.
"""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice, Device, GpuDevice
from spaces.constraints.devices.peaks import Peaks, peaks_of
from spaces.cost.batch import Batch
from spaces.features.features import Features
from spaces.features.footprints import Footprint
from spaces.features.in_kernels import fits, kernel_of, kinds_around_storage, stage_threads
from spaces.features.records import FuncFeatures, LoopFeatures, StageFeatures, volume
from spaces.features.thread_code import local_accesses, registers_available, thread_code
from spaces.features.traffic import (
    Cache,
    Traffic,
    buffers_of,
    is_outside,
    resident_depth,
)
from spaces.features.unfuse import unfuse
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, minimum, where
from spaces.model.schedules.domain_order import LoopKind

_BITS = 32
"""The operations of peak rates are of this many bits."""

WORD_BYTES = 4
"""The bytes that a thread moves between a register and local memory at once."""

_SECTOR_BYTES = 32
"""The bytes that global memory of a GPU moves at once (CUDA C++ Best Practices Guide, 10.2.1)."""


@frozen
class Roofline:
    """Seconds of a schedule that only peak rates limit.

    Attributes:
        device: the CPU or GPU.
        peaks: its peak rates.
    """

    device: Device
    peaks: Peaks

    @staticmethod
    def of(device: Device) -> Roofline:
        """The model for one device.

        Raises:
            ValueError: no peak rates of the device are known.
        """
        return Roofline(device, peaks_of(device))

    @property
    def adds_nests(self) -> bool:
        """Always true: the times of Funcs add up, and nests share only the last-level cache."""
        return True

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return batch.full(self.price(batch.features))

    def price(self, features: Features) -> SymbolicNumber:
        """Seconds of all Funcs together."""
        seconds: SymbolicNumber = 0.0
        for part in self.parts(features).values():
            seconds = seconds + part["seconds"]
        return seconds

    def parts(self, features: Features) -> dict[tuple[str, int], dict[str, SymbolicNumber]]:
        """The seconds of each Func, all under its first stage."""
        traffic = self._traffic(features)
        in_memory = self._local_accesses(features)
        found: dict[tuple[str, int], dict[str, SymbolicNumber]] = {}
        for func in features.funcs:
            moved = sum(
                self._bytes(traffic, stage, buffer)
                for stage in _working_stages(traffic.features.func(func.name))
                for buffer in buffers_of(stage)
            )
            local = in_memory.get(func.name, 0)
            found[func.name, 0] = {"seconds": self._seconds(func, moved, local)}
        return found

    def _local_accesses(self, features: Features) -> dict[str, SymbolicNumber]:
        """How often the threads of a GPU load or store words of local memory, for each Func that
        they compute; infinitely often if a block does not fit the device.
        """
        device, found = self.device, dict[str, SymbolicNumber]()
        if not isinstance(device, GpuDevice):
            return found
        for kernel in features.kernels:
            name = kernel.func, kernel.stage
            code = thread_code(features, name)
            available = registers_available(device, kernel.threads)
            for stage in features.stages:
                if kernel_of(stage) == name:
                    accesses = local_accesses(stage, code, available)
                    accesses = where(fits(device, kernel), accesses, np.inf)
                    found[stage.func] = found.get(stage.func, 0) + accesses
        return found

    def least(self, features: Features) -> SymbolicNumber:
        """Seconds of each Func, with the bytes of its own values and of images alone.

        The price is a sum over Funcs. The operations of a Func depend on its own loops, and the
        bytes of other buffers are not negative. :meth:`Traffic.least` and the footprint of one
        visit bound what moves.
        """
        seconds: SymbolicNumber = 0.0
        for func in features.funcs:
            traffic = self._traffic(evolve(features, funcs=(func,)))
            moved = sum(
                self._least_bytes(traffic, stage, buffer)
                for stage in _working_stages(traffic.features.func(func.name))
                for buffer in buffers_of(stage)
                if buffer == func.name or buffer in features.readers
            )
            seconds = seconds + self._seconds(func, moved)
        return seconds

    def _traffic(self, features: Features) -> Traffic:
        if isinstance(self.device, CpuDevice):
            return Traffic(unfuse(features), self.device.cache_line_bytes)
        return Traffic(features, _SECTOR_BYTES)

    def _seconds(
        self, func: FuncFeatures, moved: SymbolicNumber, local: SymbolicNumber = 0
    ) -> SymbolicNumber:
        """The longer one of the time to compute a Func and the time to move its bytes, with some
        accesses to local memory.
        """
        computing: SymbolicNumber = 0.0
        for stage in _working_stages(func):
            operations = stage.points * stage.work.operations.total
            computing = computing + operations / self._share(stage)
        computing = (computing + local) / self.peaks.operations_per_second
        return maximum(computing, (moved + local * WORD_BYTES) / self.peaks.bytes_per_second)

    def _share(self, stage: StageFeatures) -> SymbolicNumber:
        """The share of the peak rate that a stage can reach; on a CPU, cores times the share of
        one.
        """
        device = self.device
        if isinstance(device, CpuDevice):
            parallel = _of_kind(stage, LoopKind.PARALLEL)
            tasks = volume(tuple(loop.positive_trips for loop in parallel))
            lanes = device.vector_bits // _BITS
            return tasks / -(-tasks // device.cores) * minimum(stage.lanes, lanes) / lanes
        blocks = _of_kind(stage, LoopKind.GPU_BLOCK)
        threads = stage_threads(stage) * (blocks[-1].runs if blocks else 1)
        at_once = device.warp_threads * device.sub_partitions_per_sm * device.sm_count
        return minimum(threads, at_once) / at_once

    def _bytes(self, traffic: Traffic, stage: StageFeatures, buffer: str) -> SymbolicNumber:
        """The bytes of a buffer that a stage moves from memory or to it."""
        if isinstance(self.device, GpuDevice):
            runs, depth = _blocks(traffic.features, stage, buffer)
            return runs * traffic.regions.footprint(stage, buffer, depth).lines * _SECTOR_BYTES
        is_written = buffer == stage.func
        cache = _last_cache(self.device)
        fits = traffic.fitting_depth(stage, cache)
        features = traffic.features
        # What comes from outside, or leaves, moves at least once, whatever a cache holds.
        depth = -1 if is_outside(features, buffer) else resident_depth(features, buffer, is_written)
        moves = traffic.moves(stage, buffer, cache, fits, depth, _lines)
        lines = sum(where(here, body, 0.0) for _, here, body in moves)
        return lines * traffic.line_bytes

    def _least_bytes(self, traffic: Traffic, stage: StageFeatures, buffer: str) -> SymbolicNumber:
        if isinstance(self.device, GpuDevice):
            runs, depth = _blocks(traffic.features, stage, buffer)
            lines = minimum(*map(_lines, traffic.regions.least(stage, buffer, depth)))
            return runs * lines * _SECTOR_BYTES
        lines = traffic.least(stage, buffer, _last_cache(self.device), _lines)
        return lines * traffic.line_bytes


def _blocks(features: Features, stage: StageFeatures, buffer: str) -> tuple[SymbolicNumber, int]:
    """How many blocks of a kernel move a buffer, and the depth of their loops; no block does if the
    buffer is not global.
    """
    blocks = [d for d, v in enumerate(stage.loops, 1) if v.kind is LoopKind.GPU_BLOCK]
    depth = blocks[-1] if blocks else 0
    if kinds_around_storage(features, buffer):
        return 0, depth
    return (stage.loops[depth - 1].runs if depth else 1), depth


def _lines(body: Footprint) -> SymbolicNumber:
    return body.lines


def _working_stages(func: FuncFeatures) -> tuple[StageFeatures, ...]:
    """The stages that take time."""
    return tuple(s for s in func.stages if s.loops and not s.work.is_undefined)


def _of_kind(stage: StageFeatures, kind: LoopKind) -> list[LoopFeatures]:
    return [loop for loop in stage.loops if loop.kind is kind]


def _last_cache(cpu: CpuDevice) -> Cache:
    return Cache(cpu.l3_bytes, is_even=True)
