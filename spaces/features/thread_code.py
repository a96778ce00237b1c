"""The code of one thread of a GPU kernel: its length, the registers that its values take, and the
values that are in local memory instead.

An unrolled loop becomes one copy of its body for each iteration, one after another. Compilers load
early, to wait less, so the values that all copies read are in registers at once. The values that a
thread keeps for later, such as sums and Funcs that it computes for itself, are in registers in any
case. An array can be in registers only if each index is a constant of the code. A loop that is not
written out moves the array to local memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from spaces.constraints.devices.device import GpuDevice
from spaces.features.accesses import Index, ReadGroup
from spaces.features.features import Features
from spaces.features.in_kernels import kernel_of, kinds_around_storage
from spaces.features.records import (
    FuncFeatures,
    LoopFeatures,
    StageFeatures,
    volume,
)
from spaces.model.formulas.symbolic import (
    SymbolicCondition,
    SymbolicNumber,
    logical_not,
    maximum,
    minimum,
    where,
)
from spaces.model.schedules.domain_order import LoopKind

REGISTER_BYTES = 4

BASE = 16
"""The registers of a thread that keeps nothing: its indices, an address and the value there."""

LOADED_EARLY = 48
"""Code loads all values early that take up to this many registers, if there are as many."""

_MORE_EARLY = 4
"""Of values beyond that, or where registers are few, code loads a quarter early."""

WRITTEN_OUT = 1024
"""Compilers write out a loop whose number of iterations they know, if this makes no more
instructions.
"""

_ADDRESS = 2
"""The registers of an address, which has 64 bits."""

_OF_AN_ACCESS = 3
"""The instructions of a load or a store: the access and the arithmetic of its address."""


@frozen
class ThreadCode:
    """The code of one thread of a kernel.

    Attributes:
        kept: the registers for values that it keeps for later.
        early: the registers for values that it loads early.
        instructions: the length of its code.
        moved_by_loops: for each Func that a thread stores for itself, by name, whether a loop that
            is not written out moves an index. Then the Func is in local memory.
    """

    kept: SymbolicNumber
    early: SymbolicNumber
    instructions: SymbolicNumber
    moved_by_loops: Mapping[str, SymbolicCondition]

    @property
    def registers(self) -> SymbolicNumber:
        """All registers that its values take, which may be more than there are."""
        more = maximum(self.early - LOADED_EARLY, 0) // _MORE_EARLY
        return BASE + self.kept + minimum(self.early, LOADED_EARLY) + more

    def in_memory(self, func: str, available: SymbolicNumber) -> SymbolicNumber:
        """The share of the accesses to a Func that go to local memory, if a thread has that many
        registers; 0 for a Func that threads do not store for themselves.
        """
        if func not in self.moved_by_loops:
            return 0
        operands = minimum(self.early // _MORE_EARLY, BASE)
        missing = maximum(BASE + operands + self.kept - available, 0)
        spilled = minimum(missing / maximum(self.kept, 1), 1)
        return where(self.moved_by_loops[func], 1, spilled)


def thread_code(features: Features, kernel: tuple[str, int]) -> ThreadCode:
    """The code of one thread of a kernel, which is named by a stage."""
    stages = [stage for stage in features.stages if kernel_of(stage) == kernel]
    kept: SymbolicNumber = 0
    moved_by_loops: dict[str, SymbolicCondition] = {}
    for func in _stored_by_threads(features, stages):
        is_moved, outlives = _around_loops(features, func, stages)
        moved_by_loops[func.name] = is_moved
        registers = volume(func.allocated) * _registers(func.bytes)
        kept = kept + where(outlives & logical_not(is_moved), registers, 0)
    early: SymbolicNumber = 0
    instructions: SymbolicNumber = 0
    for stage in stages:
        early = maximum(early, _loaded_early(features, stage, moved_by_loops))
        copies: SymbolicNumber = 1
        for loop, is_written, _ in _loops_of_thread(features, stage):
            copies = copies * where(is_written, loop.positive_trips, 1)
        instructions = instructions + copies * instructions_of(stage)
    return ThreadCode(kept, early, instructions, moved_by_loops)


def instructions_of(stage: StageFeatures) -> int:
    """The instructions of one evaluation of a stage."""
    accesses = sum(access.reads for access in stage.work.accesses) + 1
    return stage.work.operations.instructions + _OF_AN_ACCESS * accesses


def local_accesses(
    stage: StageFeatures, code: ThreadCode, available: SymbolicNumber
) -> SymbolicNumber:
    """How many words all threads together load from local memory for a stage, and store there."""
    words: SymbolicNumber = 0
    for access in stage.work.accesses:
        words = words + access.reads * code.in_memory(access.buffer, available)
    return stage.points * (words + code.in_memory(stage.func, available))


def registers_available(device: GpuDevice, threads: SymbolicNumber) -> SymbolicNumber:
    """The registers that each thread of a block gets at most."""
    per_warp = device.register_allocation_unit_per_warp // device.warp_threads
    warps = maximum(-(-threads // device.warp_threads), 1)
    each = device.registers_per_sm // (warps * device.warp_threads)
    return minimum(each // per_warp * per_warp, device.max_registers_per_thread)


def _registers(bytes_: int) -> int:
    return -(-bytes_ // REGISTER_BYTES)


def _stored_by_threads(
    features: Features, stages: Sequence[StageFeatures]
) -> Iterator[FuncFeatures]:
    """The Funcs of some stages that each thread stores for itself."""
    for name in dict.fromkeys(stage.func for stage in stages):
        func = features.func(name)
        around = func.stages[0].loops[: func.store_depth]
        if any(loop.kind is LoopKind.GPU_THREAD for loop in around):
            yield func


def _around_loops(
    features: Features, func: FuncFeatures, stages: Sequence[StageFeatures]
) -> tuple[SymbolicCondition, SymbolicCondition]:
    """Whether a loop that is not written out moves an index of a Func that a thread stores, and
    whether such a loop runs while the thread stores it.
    """
    is_moved: SymbolicCondition = False
    outlives: SymbolicCondition = False
    outside = {loop.key for loop in func.stages[0].loops[: func.store_depth]}
    for stage in stages:
        indices = [i for a in stage.work.accesses if a.buffer == func.name for i in a.indices]
        is_own = stage.func == func.name
        indices += stage.work.place if is_own else ()
        for loop, is_written, _ in _loops_of_thread(features, stage) if indices or is_own else ():
            if loop.key not in outside:
                remains = logical_not(is_written)
                outlives = outlives | remains
                if _moves(features, stage, loop, indices):
                    is_moved = is_moved | remains
    return is_moved, outlives


def _moves(
    features: Features, stage: StageFeatures, loop: LoopFeatures, indices: Sequence[Index]
) -> bool:
    dimensions = features.moved_vars(stage, loop)
    return any(index.may_move(dimensions) for index in indices)


def _loops_of_thread(
    features: Features, stage: StageFeatures
) -> Iterator[tuple[LoopFeatures, SymbolicCondition, SymbolicCondition]]:
    """The loops of a thread around a stage, innermost first. Each comes with whether it is written
    out, and whether it and all loops inside are.
    """
    is_straight: SymbolicCondition = True
    length: SymbolicNumber = instructions_of(stage)
    for loop in reversed(stage.loops):
        if loop.kind in (LoopKind.GPU_THREAD, LoopKind.GPU_BLOCK):
            return
        is_known = loop.kind is LoopKind.SERIAL and loop.key in features.constant_loops
        longer = length * loop.positive_trips
        is_written = loop.kind.has_constant_extent or (
            (longer <= WRITTEN_OUT) | (loop.trips <= 1) if is_known else loop.trips <= 1
        )
        is_straight = is_straight & is_written
        length = where(is_written, longer, length)
        yield loop, is_written, is_straight


def _loaded_early(
    features: Features, stage: StageFeatures, private: Mapping[str, object]
) -> SymbolicNumber:
    """The registers for the values that a written-out body reads from shared and global memory, and
    for the addresses of lines of global memory. Each value and each line counts once.
    """
    copies: dict[str, SymbolicNumber] = {}
    for loop, _, is_straight in _loops_of_thread(features, stage):
        trips = where(is_straight, loop.positive_trips, 1)
        for name in features.moved_vars(stage, loop):
            copies[name] = copies.get(name, 1) * trips
    total: SymbolicNumber = 0
    for access in stage.work.accesses:
        if access.buffer not in private:
            values, lines = _count_distinct(features, access, copies)
            total = total + values * _registers(features.element_bytes(access.buffer))
            if not kinds_around_storage(features, access.buffer):
                total = total + lines * _ADDRESS
    return total


def _count_distinct(
    features: Features, access: ReadGroup, copies: Mapping[str, SymbolicNumber]
) -> tuple[SymbolicNumber, SymbolicNumber]:
    """The values and the lines that the copies of some reads touch, each once."""
    row = features.order(access.buffer)[:1]
    most: SymbolicNumber = access.reads
    for name, number in copies.items():
        if name in access.moved_by:
            most = most * number
    values: SymbolicNumber = 1
    lines: SymbolicNumber = 1
    for dimension, index in enumerate(access.indices):
        extent: SymbolicNumber = index.spread + 1
        for name, step, divisor in index.strides:
            extent = extent + (copies.get(name, 1) - 1) * step // divisor
        values = values * extent
        lines = lines if dimension in row else lines * extent
    return minimum(values, most), minimum(lines, most)
