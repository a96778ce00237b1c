"""Occupancy: the number of blocks of a kernel that one multiprocessor of a GPU holds at a time.

The calculation is the vendor's ("CUDA Occupancy Calculator", cited by Sioutas et al., TACO 2020,
section 2.2): each of four resources limits the number of blocks, and the scarcest decides. The code
has no branch on a value, so that the same lines run on ints, on NumPy arrays (the resources of
thousands of tile sizes) and on symbolic integers.
"""

from __future__ import annotations

from typing import Literal

from attrs import astuple, frozen

from spaces.constraints.devices.device import GpuDevice
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, minimum

Limiter = Literal["warps", "registers", "shared memory", "blocks"]


@frozen
class BlockLimits:
    """Blocks that one multiprocessor could hold if the resource named were the only scarce one.

    0 means that no block can be launched at all.
    """

    warps: SymbolicNumber
    registers: SymbolicNumber
    shared_memory: SymbolicNumber
    blocks: SymbolicNumber


@frozen
class Occupancy:
    """The share of one kernel that one multiprocessor holds.

    Attributes:
        blocks_per_sm: resident blocks; 0 if a single one asks for too much.
        active_warps: resident warps.
        fraction: active warps over the most that the multiprocessor can hold, 0 to 1.
        limiter: the resource that admits the fewest blocks (the first in `BlockLimits` of equals).
    """

    blocks_per_sm: int
    active_warps: int
    fraction: float
    limiter: Limiter


_LIMITERS: tuple[Limiter, ...] = ("warps", "registers", "shared memory", "blocks")


def block_limits(
    device: GpuDevice,
    threads_per_block: SymbolicNumber,
    registers_per_thread: SymbolicNumber,
    shared_bytes_per_block: SymbolicNumber,
) -> BlockLimits:
    """Blocks per multiprocessor that each resource admits.

    Args:
        device: the GPU.
        threads_per_block: at least 1.
        registers_per_thread: 32-bit registers, at least 0.
        shared_bytes_per_block: static and dynamic bytes together, without the device's reserve,
            at least 0. A kernel that asks for more than the static limit is taken to opt in.
    """

    def positive(value: SymbolicNumber) -> SymbolicNumber:
        return maximum(value, 1)

    def fits(value: SymbolicNumber, limit: int) -> SymbolicNumber:
        """1 where ``value <= limit``, else 0."""
        return minimum(limit // positive(value), 1)

    warps = warps_per_block(device, threads_per_block)
    admitted_by_warps = device.max_warps_per_sm // positive(warps)

    registers_per_warp = _round_up(
        registers_per_thread * device.warp_threads, device.register_allocation_unit_per_warp
    )
    # The check at launch assumes that a block takes as many registers in each sub-partition.
    registers_checked = registers_per_warp * _round_up(warps, device.sub_partitions_per_sm)
    registers_per_part = device.registers_per_sm // device.sub_partitions_per_sm
    warps_per_part = registers_per_part // positive(registers_per_warp)
    admitted_by_registers = warps_per_part * device.sub_partitions_per_sm // positive(warps)

    reserve = device.reserved_shared_bytes_per_block
    shared_bytes = _round_up(shared_bytes_per_block + reserve, device.shared_allocation_unit_bytes)
    admitted_by_shared = device.shared_bytes_per_sm // positive(shared_bytes)

    return BlockLimits(
        warps=admitted_by_warps * fits(threads_per_block, device.max_threads_per_block),
        registers=admitted_by_registers
        * fits(registers_checked, device.registers_per_block)
        * fits(registers_per_thread, device.max_registers_per_thread),
        shared_memory=admitted_by_shared
        * fits(shared_bytes, device.max_shared_bytes_per_block + reserve),
        blocks=0 * warps + device.max_blocks_per_sm,  # of the others' kind and shape
    )


def blocks_per_sm(
    device: GpuDevice,
    threads_per_block: SymbolicNumber,
    registers_per_thread: SymbolicNumber,
    shared_bytes_per_block: SymbolicNumber,
) -> SymbolicNumber:
    """Blocks that one multiprocessor holds at a time; arguments as in `block_limits`."""
    limits = block_limits(device, threads_per_block, registers_per_thread, shared_bytes_per_block)
    by_work = minimum(limits.warps, limits.registers)
    by_space = minimum(limits.shared_memory, limits.blocks)
    return minimum(by_work, by_space)


def warps_per_block(device: GpuDevice, threads_per_block: SymbolicNumber) -> SymbolicNumber:
    """Warps that a block takes: a last, partly filled one counts whole."""
    return _divide_up(threads_per_block, device.warp_threads)


def occupancy(
    device: GpuDevice,
    threads_per_block: int,
    registers_per_thread: int,
    shared_bytes_per_block: int,
) -> Occupancy:
    """The occupancy of one kernel on one device; arguments as in `block_limits`.

    Raises:
        ValueError: if a block has no threads, or a resource is negative.
    """
    if threads_per_block < 1:
        raise ValueError(f"A block has at least one thread; {threads_per_block} were given.")
    if registers_per_thread < 0 or shared_bytes_per_block < 0:
        raise ValueError(
            "Registers and shared memory cannot be negative; "
            f"{registers_per_thread} registers per thread and "
            f"{shared_bytes_per_block} bytes per block were given."
        )
    limits = astuple(
        block_limits(device, threads_per_block, registers_per_thread, shared_bytes_per_block)
    )
    blocks = min(limits)
    active_warps = blocks * warps_per_block(device, threads_per_block)
    return Occupancy(
        blocks_per_sm=blocks,
        active_warps=active_warps,
        fraction=active_warps / device.max_warps_per_sm,
        limiter=_LIMITERS[limits.index(blocks)],
    )


def occupancy_fractions(
    device: GpuDevice,
    threads_per_block: SymbolicNumber,
    registers_per_thread: SymbolicNumber,
    shared_bytes_per_block: SymbolicNumber,
) -> SymbolicNumber:
    """Active warps over the most possible, 0 to 1, for arrays of int64 that broadcast together.

    The values must be in the domain that `block_limits` states; they are not checked.
    """
    blocks = blocks_per_sm(device, threads_per_block, registers_per_thread, shared_bytes_per_block)
    return blocks * warps_per_block(device, threads_per_block) / device.max_warps_per_sm


def _divide_up(value: SymbolicNumber, unit: int) -> SymbolicNumber:
    return (value + (unit - 1)) // unit


def _round_up(value: SymbolicNumber, unit: int) -> SymbolicNumber:
    return _divide_up(value, unit) * unit
