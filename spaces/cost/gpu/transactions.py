"""What a kernel loads and stores, as the occupancy model counts it. It counts loads from shared
memory for single threads, and transactions with global and local memory for the threads of a warp.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from spaces.constraints.devices.device import GpuDevice
from spaces.features.accesses import ReadGroup
from spaces.features.contention import contended_loops
from spaces.features.features import Features, copies_that_share
from spaces.features.in_kernels import kernel_of, kinds_around_storage
from spaces.features.records import KernelFeatures, StageFeatures
from spaces.features.thread_code import local_accesses, registers_available, thread_code
from spaces.model.formulas.symbolic import SymbolicNumber, minimum
from spaces.model.schedules.domain_order import LoopKind

TRANSACTION_BYTES = 128
"""Bytes that one access to global memory can serve to the threads of a warp."""


@frozen
class KernelTransactions:
    """What all threads of a kernel do with memory in one launch.

    Attributes:
        loads: transactions that load from global memory.
        stores: transactions that store to global memory.
        local: transactions with local memory, in which a thread keeps what registers do not hold.
        shared_loads: loads of single threads from shared memory.
    """

    loads: SymbolicNumber
    stores: SymbolicNumber
    local: SymbolicNumber
    shared_loads: SymbolicNumber


@frozen
class CountedLoads:
    """The loads of a group of reads in a kernel.

    Attributes:
        loads: those of all threads.
        together: how many of them one transaction with global memory serves.
        is_shared: whether they read shared memory.
    """

    loads: SymbolicNumber
    together: SymbolicNumber
    is_shared: bool


def counted_loads(features: Features, stage: StageFeatures) -> Iterator[CountedLoads]:
    """The loads of a stage from shared and global memory, by group of reads."""
    for access in stage.work.accesses:
        loads = stage.points * access.reads / copies_that_share(stage.own, access.moved_by)
        kinds = kinds_around_storage(features, access.buffer)
        if LoopKind.GPU_THREAD in kinds:
            continue
        if LoopKind.GPU_BLOCK in kinds:
            yield CountedLoads(loads, 1, True)
        else:
            yield CountedLoads(loads, consecutive_loads(features, stage, access), False)


def stores_together(features: Features, stage: StageFeatures, device: GpuDevice) -> int:
    """The stores of a stage for other kernels that one transaction serves: those of a warp; 0 if
    what it stores stays in its kernel.
    """
    if kinds_around_storage(features, stage.func):
        return 0
    # Each thread of a warp changes an element of its own, or waits for it.
    is_contended = contended_loops(features, stage, (LoopKind.GPU_THREAD,))
    return 1 if is_contended else device.warp_threads


def kernel_transactions(
    features: Features, kernel: KernelFeatures, device: GpuDevice
) -> KernelTransactions:
    """What a kernel does with memory."""
    loads: SymbolicNumber = 0.0
    stores: SymbolicNumber = 0.0
    local: SymbolicNumber = 0.0
    shared: SymbolicNumber = 0.0
    code = thread_code(features, (kernel.func, kernel.stage))
    available = registers_available(device, kernel.threads)
    for stage in features.stages:
        if kernel_of(stage) != (kernel.func, kernel.stage):
            continue
        for counted in counted_loads(features, stage):
            if counted.is_shared:
                shared = shared + counted.loads
            else:
                loads = loads + counted.loads / counted.together
        together = stores_together(features, stage, device)
        if together:
            stores = stores + stage.points / together
        local = local + local_accesses(stage, code, available) / device.warp_threads
    return KernelTransactions(loads, stores, local, shared)


def consecutive_loads(
    features: Features, stage: StageFeatures, access: ReadGroup
) -> SymbolicNumber:
    """Loads of neighboring threads that one transaction serves, at least 1."""
    threads = [loop for loop in stage.loops if loop.kind is LoopKind.GPU_THREAD]
    if not threads:
        return 1
    x = threads[-1]
    most = TRANSACTION_BYTES // features.element_bytes(access.buffer)
    moved = sorted(features.moved_vars(stage, x))
    steps = [[index.step(var) for var in moved] for index in access.indices]
    if not any(any(s) for s in steps):
        return minimum(x.positive_trips, most)  # all threads read the same place
    along, *others = (steps[d] for d in features.order(access.buffer))
    is_dense = all(abs(s) == 1 for s in along) and not any(map(any, others))
    return minimum(x.positive_trips, most) if is_dense else 1
