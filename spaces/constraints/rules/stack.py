"""Rules about the stack of the CPU: its frames are laid out by the compiler, and are small."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial, reduce

from attrs import evolve

from spaces.constraints.rules.directive_text import memory_directive
from spaces.constraints.rules.explicit_bounds import example_bounds
from spaces.constraints.rules.gpu_reasons import in_bytes
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.rule import Check, Quantity, advice_rule, check, nest_rule, refuse
from spaces.constraints.sizes.kernels import allocation_bytes
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.nest.allocation import Allocation
from spaces.model.nest.largest import largest_constant
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import MemoryType

PRIVATE = (MemoryType.STACK, MemoryType.REGISTER)
"""The memory of one thread."""

MAX_STACK_BYTES = 256 << 10
"""The most that one Func may keep on the stack of a thread: half of 512 KiB, the smallest stack
that a system gives to a thread other than the main one.
"""


def _limits(view: NestView, func: str) -> tuple[Expr, ...]:
    """The largest extents of a Func's memory along each dimension; constants if known."""
    path = view.placement(func).path
    return tuple(
        largest_constant(e, path, view.nest.simplify, view.is_constant)
        for e in view.nest.memory_of(func)
    )


@nest_rule(
    "storage.private-size",
    "An allocation in registers, or on the stack of a kernel, whose size has no constant limit is "
    "illegal, because the compiler lays out the frame.",
    "Halide refuses these, too.",
)
def private_size(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    allocation = _unlimited(view, func)
    if allocation is None or (
        allocation.memory is MemoryType.STACK and not _is_in_kernel(view, func)
    ):
        return
    yield refuse(
        func,
        "{directive} stores {func} in {memory}, but its size {size} is not a constant.",
        "Store it in MemoryType::Heap, or inside a tile of constant size; or bound it, as in "
        "{bound}.",
        bound=example_bounds(view, allocation),
        directive=memory_directive(func, allocation.memory),
        memory=str(allocation.memory),
        size=_shape(allocation),
    )


@advice_rule(
    "advice.stack-size",
    "Memory of the stack of the CPU has no effect if its size has no constant limit, because the "
    "compiler lays out the frame; the memory then comes from the heap.",
    "Halide takes it from a stack of its own, which keeps blocks of the heap.",
)
def stack_size(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    allocation = _unlimited(view, func)
    if allocation is None or allocation.memory is not MemoryType.STACK:
        return
    yield refuse(
        func,
        "{directive} stores {func} on the stack, but its size {size} is not a constant, so its "
        "memory comes from the heap.",
        "Bound it, as in {bound}, or leave this out.",
        bound=example_bounds(view, allocation),
        directive=memory_directive(func, allocation.memory),
        size=_shape(allocation),
    )


def _unlimited(view: NestView, func: str) -> Allocation | None:
    """The largest allocation of a Func on the stack or in registers, if it has no constant size."""
    allocation = view.allocations.get(func)
    if allocation is None or allocation.memory not in PRIVATE:
        return None
    allocation = evolve(allocation, extents=_limits(view, func))
    return None if view.is_constant(allocation.elements) else allocation


def _shape(allocation: Allocation) -> str:
    return " x ".join(f"({extent})" for extent in allocation.extents)


def _is_in_kernel(view: NestView, func: str) -> bool:
    return any(loop.kind is LoopKind.GPU_BLOCK for loop in view.placement(func).path)


@nest_rule(
    "storage.stack-bytes",
    f"An allocation of more than {MAX_STACK_BYTES} bytes on the stack of the CPU is "
    "illegal, because a "
    "thread's stack may overflow.",
    "Half of 512 KiB, the smallest default stack of a thread among current systems.",
    bytes=Quantity("size of the allocation", "bytes"),
    limit=Quantity("most bytes of one allocation on the stack", "bytes"),
)
def stack_bytes(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    allocation = _on_stack(view, func)
    if allocation is None:
        return
    yield check(
        func,
        allocation_bytes(allocation) <= MAX_STACK_BYTES,
        "{directive} puts {bytes} bytes on the stack ({array}); a thread has room for {limit}.",
        "Store {func} in MemoryType::Heap, or compute less of it at a time.",
        directive=memory_directive(func, allocation.memory),
        bytes=allocation_bytes(allocation),
        array=partial(in_bytes, [allocation]),
        limit=MAX_STACK_BYTES,
    )


@nest_rule(
    "storage.stack-total",
    f"Funcs of together more than {MAX_STACK_BYTES} bytes on the stack of the CPU are illegal if "
    "no parallel loop lies between them, because one frame holds them all, and a thread's stack "
    "may overflow.",
    "Half of 512 KiB, the smallest default stack of a thread among current systems.",
    bytes=Quantity("size of the allocations together", "bytes"),
    limit=Quantity("most bytes of a frame on the stack", "bytes"),
)
def stack_total(view: NestView, func: str) -> Iterator[Check]:
    """One check for the first of several Funcs in a frame."""
    if _on_stack(view, func) is None:
        return
    stored = {name: _on_stack(view, name) for name in view.allocations}
    frame = _frame(view, func)
    together = [a for name, a in stored.items() if a is not None and _frame(view, name) == frame]
    if len(together) < 2 or together[0].func != func:
        return
    sizes = [allocation_bytes(allocation) for allocation in together]
    total, largest = reduce(operator.add, sizes), reduce(fn.max, sizes)
    yield check(
        func,
        (largest > MAX_STACK_BYTES) | (total <= MAX_STACK_BYTES),
        "{funcs} take {bytes} bytes of the stack together ({arrays}); a thread has room for "
        "{limit}.",
        "Store one of them in MemoryType::Heap, or compute less at a time.",
        funcs=listed(allocation.func for allocation in together),
        bytes=total,
        arrays=partial(in_bytes, together),
        limit=MAX_STACK_BYTES,
    )


def _on_stack(view: NestView, func: str) -> Allocation | None:
    """The largest allocation of a Func on the stack of the CPU, if that has a constant size."""
    allocation = view.allocations.get(func)
    if allocation is None or allocation.memory not in PRIVATE:
        return None
    allocation = evolve(allocation, extents=_limits(view, func))
    is_constant = view.is_constant(allocation.elements)
    return allocation if is_constant and not _is_in_kernel(view, func) else None


def _frame(view: NestView, func: str) -> tuple[LoopVar, ...]:
    """The loops around the storage of a Func, up to the innermost parallel one: its iterations are
    calls of a function of their own.
    """
    placement = view.placement(func)
    around = placement.path[: placement.store_depth]
    jobs = [depth for depth, loop in enumerate(around) if loop.kind is LoopKind.PARALLEL]
    return around[: jobs[-1] + 1] if jobs else ()


RULES = (private_size, stack_bytes, stack_total)
ADVICE = (stack_size,)
