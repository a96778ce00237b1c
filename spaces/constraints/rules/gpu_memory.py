"""Rules about the shared memory, registers and local memory that a kernel takes.

The limits are those of the device, from NVIDIA's table of technical specifications per compute
capability (CUDA C++ Programming Guide).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.devices.occupancy import blocks_per_sm
from spaces.constraints.rules.directive_text import store_directive
from spaces.constraints.rules.explicit_bounds import example_bounds
from spaces.constraints.rules.gpu_kernels import TABLE, kernel_check, kernels_of, launchable, title
from spaces.constraints.rules.gpu_reasons import in_bytes, product, widening
from spaces.constraints.rules.gpu_room import room_in_shared_memory
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.rule import Check, Quantity, nest_rule, refuse
from spaces.constraints.sizes.kernels import Kernel, allocation_bytes
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import INTEGERS, read_all
from spaces.model.formulas.symbolic import as_formula
from spaces.model.schedules.schedule import MemoryType


@nest_rule(
    "gpu.allocation-size",
    "An allocation in a kernel whose size has no constant limit is illegal, because the compiler "
    "lays out shared memory and registers.",
    "Shared memory and registers are laid out when the kernel is compiled.",
)
def allocation_size(view: NestView, func: str) -> Iterator[Check]:
    """One check for each allocation in the Func's kernels whose size varies."""
    for _, kernel in kernels_of(view, func):
        for allocation in (*kernel.shared, *kernel.private):
            if not view.is_constant(allocation.elements):
                yield refuse(
                    allocation.func,
                    "{directive} stores {func} inside the kernel of {kernel}, but its size {size} "
                    "is not bounded by a constant.",
                    "Compute it inside a tile of constant size, or store it outside the kernel; or "
                    "bound it, as in {bound}.",
                    loop=allocation.level.loop,
                    bound=example_bounds(view, allocation),
                    directive=store_directive(view.records.entry(allocation.func)),
                    kernel=title(kernel),
                    size=" x ".join(f"({e})" for e in allocation.extents),
                )


@nest_rule(
    "gpu.shared-bytes",
    "A block with more shared memory than the device allows is illegal, because the device "
    "refuses to launch it; the driver's reserve counts, and the sum is rounded up to whole units.",
    f"{TABLE}: maximum amount of shared memory per thread block.",
    bytes=Quantity("shared memory of the Funcs in a block", "bytes"),
    allocated=Quantity("the same with the reserve, in whole units", "bytes"),
    reserve=Quantity("shared memory that the driver takes of each block", "bytes"),
    unit=Quantity("step in which the device allocates shared memory", "bytes"),
    limit=Quantity("most shared memory of a block, reserve included", "bytes"),
)
def shared_bytes(view: NestView, func: str) -> Iterator[Check]:
    """One check for each kernel that uses shared memory."""
    for gpu, kernel in kernels_of(view, func):
        if not kernel.shared or not all(view.is_constant(a.elements) for a in kernel.shared):
            continue
        reserve = gpu.reserved_shared_bytes_per_block
        yield kernel_check(
            gpu,
            kernel,
            _fits_shared(gpu, kernel),
            "The kernel of {kernel} asks for {bytes} bytes of shared memory a block "
            "({arrays}), {allocated} with the reserve of {reserve} and in units of {unit}; "
            "{device} has {limit} (compute capability {capability}).",
            "{advice}",
            advice=partial(room_in_shared_memory, view.nest, kernel, partial(_fits_shared, gpu)),
            bytes=kernel.shared_bytes,
            arrays=partial(in_bytes, kernel.shared),
            allocated=_allocated(gpu, kernel),
            reserve=reserve,
            unit=gpu.shared_allocation_unit_bytes,
            limit=gpu.max_shared_bytes_per_block + reserve,
        )


def _allocated(gpu: GpuDevice, kernel: Kernel) -> Expr:
    """Bytes of shared memory that a block takes: with the reserve, in whole units."""
    unit = gpu.shared_allocation_unit_bytes
    asked = kernel.shared_bytes + gpu.reserved_shared_bytes_per_block
    return (asked + (unit - 1)) / unit * unit


def _fits_shared(gpu: GpuDevice, kernel: Kernel) -> Expr:
    limit = gpu.max_shared_bytes_per_block + gpu.reserved_shared_bytes_per_block
    return _allocated(gpu, kernel) <= limit


def _registers(kernel: Kernel) -> Expr:
    """Registers that the values kept in registers take, four bytes each: a lower bound."""
    total: Expr = constant(0, Int32)
    for allocation in kernel.private:
        if allocation.memory is MemoryType.REGISTER:
            total = total + (allocation_bytes(allocation) + 3) / 4
    return total


def _are_constant(view: NestView, kernel: Kernel) -> bool:
    return all(view.is_constant(a.elements) for a in (*kernel.shared, *kernel.private))


@nest_rule(
    "gpu.registers",
    "A kernel is illegal if the values that a thread keeps in registers exceed the registers of a "
    "thread, because the device has no more.",
    f"{TABLE}: maximum number of 32-bit registers per thread.",
    registers=Quantity(
        "registers that the values of a thread need at least", "registers of 4 bytes"
    ),
    limit=Quantity("most registers of a thread on the device", "registers of 4 bytes"),
)
def registers(view: NestView, func: str) -> Iterator[Check]:
    """One check for each kernel with values kept in registers."""
    for gpu, kernel in launchable(view, func):
        kept = [a for a in kernel.private if a.memory is MemoryType.REGISTER]
        if not kept or not _are_constant(view, kernel):
            continue
        yield kernel_check(
            gpu,
            kernel,
            _registers(kernel) <= gpu.max_registers_per_thread,
            "Each thread of the kernel of {kernel} keeps {arrays} in {registers} registers of 4 "
            "bytes; {device} has {limit} a thread (compute capability {capability}).",
            "Leave the kind of memory to be chosen (auto), or compute less at a time.",
            arrays=partial(in_bytes, kept),
            registers=_registers(kernel),
            limit=gpu.max_registers_per_thread,
        )


@nest_rule(
    "gpu.occupancy",
    "A kernel whose block does not fit on a multiprocessor is illegal, because the device refuses "
    "to launch it.",
    "The vendor's occupancy calculation [S20 2.2].",
    blocks=Quantity("blocks that fit on a multiprocessor at one time", "blocks"),
    threads=Quantity("threads of a block", "threads"),
    registers=Quantity("registers of a thread, at least", "registers of 4 bytes"),
    bytes=Quantity("shared memory of a block", "bytes"),
    has_registers=Quantity("registers of a multiprocessor", "registers of 4 bytes"),
    has_bytes=Quantity("shared memory of a multiprocessor", "bytes"),
)
def occupancy(view: NestView, func: str) -> Iterator[Check]:
    """One check for each kernel of constant size; it fails only if no other limit does."""
    for gpu, kernel in launchable(view, func):
        if not _are_constant(view, kernel):
            continue
        resident = _resident_blocks(gpu, kernel)
        broken = ~(kernel.threads_per_block <= gpu.max_threads_per_block)
        broken |= ~(_registers(kernel) <= gpu.max_registers_per_thread)
        broken |= ~_fits_shared(gpu, kernel)
        yield kernel_check(
            gpu,
            kernel,
            broken | (resident >= constant(1, Int32)),
            "No multiprocessor of {device} holds a block of the kernel of {kernel}: "
            "{product} threads{reason}, at least {registers} registers each, {bytes} bytes of "
            "shared memory; it has {has_registers} registers and {has_bytes} bytes (compute "
            "capability {capability}).",
            "Choose a smaller tile, or keep less of it in registers or shared memory.",
            blocks=resident,
            threads=kernel.threads_per_block,
            product=partial(product, kernel.block),
            reason=partial(widening, kernel, view.nest.simplify),
            registers=_registers(kernel),
            bytes=kernel.shared_bytes,
            has_registers=gpu.registers_per_sm,
            has_bytes=gpu.shared_bytes_per_sm,
        )


def _resident_blocks(gpu: GpuDevice, kernel: Kernel) -> Expr:
    """The blocks of a kernel that a multiprocessor holds, as a number if all inputs are numbers."""
    taken = (kernel.threads_per_block, _registers(kernel), kernel.shared_bytes)
    if variables(*taken):
        return as_formula(blocks_per_sm(gpu, *taken))
    return as_formula(blocks_per_sm(gpu, *read_all(taken, {}, INTEGERS)))


@nest_rule(
    "gpu.local-bytes",
    "A kernel is illegal if a thread keeps more bytes for itself than the device allows, because "
    "they do not fit in its local memory.",
    f"{TABLE}: amount of local memory per thread.",
    bytes=Quantity("values that a thread keeps for itself", "bytes"),
    limit=Quantity("most local memory of a thread on the device", "bytes"),
)
def local_bytes(view: NestView, func: str) -> Iterator[Check]:
    """One check for each kernel whose threads keep values."""
    for gpu, kernel in kernels_of(view, func):
        if not kernel.private or not all(view.is_constant(a.elements) for a in kernel.private):
            continue
        taken = kernel.private_bytes(*MemoryType)
        yield kernel_check(
            gpu,
            kernel,
            taken <= gpu.max_local_bytes_per_thread,
            "Each thread of the kernel of {kernel} keeps {bytes} bytes for itself ({arrays}); "
            "{device} has {limit} (compute capability {capability}).",
            "Compute less at a time, or keep it in shared memory.",
            bytes=taken,
            arrays=partial(in_bytes, kernel.private),
            limit=gpu.max_local_bytes_per_thread,
        )


RULES = (allocation_size, shared_bytes, registers, occupancy, local_bytes)
