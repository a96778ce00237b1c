"""Costs on a GPU: Listing 1 of [S20].

A group of stages that share a kernel has a cost of two parts, which are added. One is its
arithmetic, divided by the threads that run at a time. The other is its loads, weighted by the
memory that they read. A kernel that does not fit the device costs infinitely much. The listing also
discards kernels that keep few threads of a multiprocessor busy, that have partly filled warps, or
that have fewer blocks than there are multiprocessors. These kernels run, and some problems have no
others. So here idle lanes and idle multiprocessors only lower the throughput. The listing looks at
groups, not at whole pipelines. This model adds the stores for other kernels, the start of kernels
and blocks, the time of a single thread, values in local memory, and code that no instruction cache
holds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.constraints.devices.occupancy import occupancy_fractions
from spaces.cost.batch import Batch
from spaces.cost.gpu.transactions import TRANSACTION_BYTES, counted_loads, stores_together
from spaces.features.contention import contended_loops, shared_elements
from spaces.features.features import Features
from spaces.features.in_kernels import (
    ASSUMED_REGISTERS,
    fits,
    kernel_of,
    kinds_around_storage,
    stage_threads,
)
from spaces.features.records import KernelFeatures, StageFeatures
from spaces.features.thread_code import (
    ThreadCode,
    instructions_of,
    local_accesses,
    registers_available,
    thread_code,
)
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, minimum, where
from spaces.model.schedules.domain_order import LoopKind

CACHED_INSTRUCTIONS = (128 << 10) // 16
"""The instructions that a multiprocessor caches: 128 KiB, each of 16 bytes (Jia et al., Dissecting
the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018, 3.1 and 4.1).
"""

_FETCHED = TRANSACTION_BYTES // 16
"""The instructions that one access to memory brings."""

_ISSUED_PER_CLOCK = 128
"""Operations of threads that a multiprocessor begins in a clock: one for each thread of a warp, in
each of its four schedulers (CUDA C Programming Guide, Compute Capabilities 7.x to 9.x).
"""

_AT_ONCE = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


@frozen
class OccupancyModel:
    """Estimated cost of a schedule on one GPU, in operations a thread.

    Attributes:
        device: the GPU.
        registers_per_thread: the registers that a thread is assumed to take at least; fewer if a
            block would not get them, because compilers then spill [S20 4.2].
        global_load: the time of a transaction with global memory, in operations.
        shared_load: the time of one thread's load from shared memory, in operations.
        latency: the operations that a thread could start before the result of one arrives.
        launch: the time to start a kernel on each multiprocessor, in operations.
        block: the time to start a block, in operations.
        counted: the registers of a thread of some kernels, each by its Func and stage, as a
            compiler counts them.
    """

    device: GpuDevice
    registers_per_thread: int = ASSUMED_REGISTERS
    global_load: float = 40.0
    shared_load: float = 0.3
    latency: float = 4.0
    launch: float = 300.0
    block: float = 2.0
    counted: Mapping[tuple[str, int], int] = field(factory=dict, hash=False)

    @staticmethod
    def of(device: Device) -> OccupancyModel:
        """The model for one GPU.

        Raises:
            ValueError: ``device`` is a CPU.
        """
        if not isinstance(device, GpuDevice):
            raise ValueError(
                f"The cost model 'occupancy' is for GPUs, and {device.name} is a CPU; use 'reuse'."
            )
        return OccupancyModel(device)

    @property
    def adds_nests(self) -> bool:
        """Always true: kernels run one after the other, and global memory keeps what they share."""
        return True

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return batch.full(self.price(batch.features))

    def price(self, features: Features) -> SymbolicNumber:
        cost: SymbolicNumber = 0.0
        for kernel in features.kernels:
            cost = cost + self._group(features, kernel)
        for stage in features.stages:
            if kernel_of(stage) is None:
                cost = cost + self._on_host(features, stage)
        return cost

    def parts(self, features: Features) -> dict[tuple[str, int], dict[str, SymbolicNumber]]:
        """The cost of each kernel, under the stage that names it, and of each stage on the host."""
        found = {
            (kernel.func, kernel.stage): {"kernel": self._group(features, kernel)}
            for kernel in features.kernels
        }
        for stage in features.stages:
            if kernel_of(stage) is None:
                found[stage.func, stage.index] = {"host": self._on_host(features, stage)}
        return found

    def least(self, features: Features) -> SymbolicNumber:
        """Arithmetic, loads of images and stores of each stage, and the start of the kernel that
        has its name. A block without shared memory decides how many threads are busy.

        More shared memory and other stages only lower the occupancy and the busy threads. Idle
        multiprocessors, single threads and blocks only add to the cost. Minus infinity if a time is
        negative.
        """
        if min(self.global_load, self.shared_load, self.latency, self.launch, self.block) < 0:
            return -np.inf
        cost: SymbolicNumber = 0.0
        # A compiler may count fewer registers than are assumed.
        fewest = min((self.registers_per_thread, *self.counted.values()))
        for stage in features.stages:
            if kernel_of(stage) is None:
                cost = cost + self._on_host(features, stage)
                continue
            threads = stage_threads(stage)
            fraction = self._fraction(threads, 0, fewest)
            busy = maximum(fraction, 1e-9) * self._active_threads(fraction, threads)
            images = tuple(a for a in stage.work.accesses if a.buffer in features.readers)
            work = evolve(stage, work=evolve(stage.work, accesses=images))
            moved = self._loads(features, work) + self._stores(features, stage)
            operations = stage.points * max(stage.work.operations.total, 1)
            cost = cost + (operations + moved) / busy
            if kernel_of(stage) == (stage.func, stage.index):
                cost = cost + self.launch * self.device.sm_count
        return cost

    def occupancy(self, kernel: KernelFeatures, threads: SymbolicNumber) -> SymbolicNumber:
        """Occupancy, 0 to 1, while a stage of ``threads`` threads a block runs in ``kernel`` with
        the registers that threads take at least.
        """
        return self._fraction(threads, kernel.shared_bytes, self.registers_per_thread)

    def with_registers(self, counted: Mapping[tuple[str, int], int]) -> OccupancyModel:
        """The model with the registers of a thread of some kernels, as a compiler counts them."""
        return evolve(self, counted={**self.counted, **counted})

    def _registers(self, kernel: KernelFeatures, code: ThreadCode) -> SymbolicNumber:
        """The registers that a thread needs: as the compiler counts them, if known; else those of
        its values, and at least as many as each thread is assumed to take.
        """
        known = self.counted.get((kernel.func, kernel.stage))
        return maximum(code.registers, self.registers_per_thread) if known is None else known

    def _fraction(
        self, threads: SymbolicNumber, shared_bytes: SymbolicNumber, needed: SymbolicNumber
    ) -> SymbolicNumber:
        """Occupancy if each thread needs that many registers."""
        registers = minimum(needed, self.device.registers_per_sm // maximum(threads, 1))
        most = minimum(registers, self.device.max_registers_per_thread)
        return occupancy_fractions(self.device, threads, most, shared_bytes)

    def _group(self, features: Features, kernel: KernelFeatures) -> SymbolicNumber:
        arithmetic: SymbolicNumber = 0.0
        memory: SymbolicNumber = 0.0
        executed: SymbolicNumber = 0.0
        least_occupancy: SymbolicNumber = 1.0
        least_threads: SymbolicNumber = float(self.device.max_threads_per_sm)
        idle = self._idle_factor(kernel)
        code = thread_code(features, (kernel.func, kernel.stage))
        needed = self._registers(kernel, code)
        available = registers_available(self.device, kernel.threads)
        for stage in features.stages:
            if kernel_of(stage) != (kernel.func, kernel.stage):
                continue
            threads = stage_threads(stage)
            fraction = self._fraction(threads, kernel.shared_bytes, needed)
            active = self._active_threads(fraction, threads)
            operations = stage.points * max(stage.work.operations.total, 1)
            shared = operations / (maximum(fraction, 1e-9) * active) * idle
            # However many threads run, each must finish its own work.
            workers = maximum(threads * kernel.blocks, 1)
            alone = operations / workers * self.latency * self.device.sm_count
            arithmetic = arithmetic + maximum(shared, alone)
            loads, stores = self._loads(features, stage), self._stores(features, stage)
            memory = memory + loads + stores + self._local_cost(stage, code, available)
            executed = executed + stage.points * instructions_of(stage)
            arithmetic = arithmetic + self._waiting_time(features, stage)
            least_occupancy = minimum(least_occupancy, fraction)
            least_threads = minimum(least_threads, active)
        memory = memory + self._fetch_cost(code, executed)
        busy = maximum(least_occupancy * least_threads, 1e-9)
        begun = self.launch * self.device.sm_count + self.block * kernel.blocks
        cost = arithmetic + memory / busy * idle + begun
        return where(fits(self.device, kernel), cost, np.inf)

    def _idle_factor(self, kernel: KernelFeatures) -> SymbolicNumber:
        """All multiprocessors over those that have a block, ``active_SMs`` of Listing 1."""
        return self.device.sm_count / minimum(maximum(kernel.blocks, 1), self.device.sm_count)

    def _active_threads(self, occupancy: SymbolicNumber, threads: SymbolicNumber) -> SymbolicNumber:
        """The busy threads of a multiprocessor: a partly filled warp runs like a full one."""
        warp = self.device.warp_threads
        share = threads / maximum(-(-threads // warp) * warp, 1)
        return maximum(occupancy * self.device.max_threads_per_sm * share, 1.0)

    def _loads(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """The cost of loads from shared and global memory."""
        cost: SymbolicNumber = 0.0
        for counted in counted_loads(features, stage):
            if counted.is_shared:
                cost = cost + counted.loads * self.shared_load
            else:
                cost = cost + counted.loads * self.global_load / counted.together
        return cost

    def _local_cost(
        self, stage: StageFeatures, code: ThreadCode, available: SymbolicNumber
    ) -> SymbolicNumber:
        """The cost of accesses to local memory, where the values of the threads of a warp are
        neighbors.
        """
        accesses = local_accesses(stage, code, available)
        return accesses * self.global_load / self.device.warp_threads

    def _fetch_cost(self, code: ThreadCode, executed: SymbolicNumber) -> SymbolicNumber:
        """The cost to fetch the executed instructions that the cache does not hold, for all threads
        of a warp together.
        """
        missing = 1 - minimum(CACHED_INSTRUCTIONS / maximum(code.instructions, 1), 1)
        accesses = executed * missing / (_FETCHED * self.device.warp_threads)
        return accesses * self.global_load

    def _stores(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """The cost of stores for other kernels: one transaction for the threads of a warp."""
        together = stores_together(features, stage, self.device)
        return stage.points * self.global_load / together if together else 0.0

    def _waiting_time(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """The time of atomic updates of the same element, which come one after another: one a clock
        (NVIDIA, Kepler GK110 whitepaper, 2012: atomic operations on a common address). All
        multiprocessors share the elements in global memory. Each block has its own shared memory.
        """
        if not contended_loops(features, stage, _AT_ONCE):
            return 0.0
        first = next(i for i, loop in enumerate(stage.own) if loop.kind in _AT_ONCE)
        in_turn = stage.points / shared_elements(features, stage, stage.own[first:])
        operations = in_turn * _ISSUED_PER_CLOCK / self.device.max_threads_per_sm
        is_shared = LoopKind.GPU_BLOCK in kinds_around_storage(features, stage.func)
        return operations if is_shared else operations * self.device.sm_count

    def _on_host(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """The cost of a stage outside kernels: one thread, and all its data moves to the device."""
        reads = sum(access.reads for access in stage.work.accesses)
        return stage.points * (max(stage.work.operations.total, 1) + (reads + 1) * self.global_load)
