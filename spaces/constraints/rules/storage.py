"""Rules about storage: memory types and folds."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import partial

from spaces.constraints.rules.directive_text import (
    fold_directive,
    memory_directive,
    store_directive,
)
from spaces.constraints.rules.domain_order import factor_in_range
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import (
    VIOLATED,
    Check,
    Quantity,
    call_rule,
    check,
    nest_rule,
    own_rule,
    refuse,
)
from spaces.constraints.rules.stack import PRIVATE
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Interval
from spaces.model.nest.splits import factor_expr
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import MemoryType


@own_rule(
    "storage.fold-dimension",
    "A fold along a name that is not a dimension of the Func is illegal, because storage has only "
    "these dimensions.",
    "Halide's fold_storage takes a Var of the Func.",
)
def fold_dimension(records: Records, func: str) -> Iterator[Check]:
    """One check for each fold along a name that is not a dimension."""
    args = records.function(func).args
    for fold in records.entry(func).folds:
        if fold.dimension not in args:
            yield refuse(
                func,
                "{directive} names {dimension}, which is no dimension of {func}.",
                "Its dimensions are {legal}.",
                loop=fold.dimension,
                directive=fold_directive(func, fold),
                dimension=fold.dimension,
                legal=listed(args),
            )


@own_rule(
    "storage.fold-output",
    "A fold of an output is illegal, because the caller provides its storage and reads all of it "
    "afterwards.",
    "The caller's buffer holds every value of an output.",
)
def fold_output(records: Records, func: str) -> Iterator[Check]:
    """One check for each fold of an output."""
    if func in records.pipeline.outputs:
        for fold in records.entry(func).folds:
            yield refuse(
                func,
                "{directive} folds {func} along {dimension}, but it is an output: its storage "
                "belongs to the caller.",
                "Leave it out.",
                loop=fold.dimension,
                directive=fold_directive(func, fold),
                dimension=fold.dimension,
            )


@own_rule(
    "storage.fold-factor",
    "A fold factor below 1 or above 2147483647 is illegal, because stored coordinates are taken "
    "modulo the factor in int32.",
    "Halide's fold_storage counts coordinates modulo the factor.",
    factor=Quantity("fold factor", "values"),
)
def fold_factor(records: Records, func: str) -> Iterator[Check]:
    """One check for each fold."""
    for fold in records.entry(func).folds:
        yield check(
            func,
            factor_in_range(fold.factor),
            "{directive} folds {func} along {dimension} by {factor}.",
            "A factor is at least 1 and at most 2147483647.",
            loop=fold.dimension,
            directive=fold_directive(func, fold),
            dimension=fold.dimension,
            factor=fold.factor,
        )


@nest_rule(
    "storage.fold-direction",
    "A fold is illegal if `fold_forward` says another direction than the one in which the reads "
    "move, because it would overwrite values that are still needed.",
    "Halide refuses the wrong direction when the pipeline runs.",
)
def fold_direction(view: NestView, func: str) -> Iterator[Check]:
    """One check for each fold of a dimension along which a window slides the other way."""
    slides = view.placement(func).storage.slides
    for fold in view.nest.schedule.of(func).folds:
        against = [
            s for s in slides if s.dimension == fold.dimension and s.forward is not fold.forward
        ]
        for slide in against[:1]:
            yield Check(
                func,
                VIOLATED,
                "{directive} folds {func} along {dimension} for reads that move {up}, but along "
                "{loop} the reads move {down}.",
                "{legal}.",
                loop=fold.dimension,
                values={
                    "directive": fold_directive(func, fold),
                    "dimension": fold.dimension,
                    "up": "up" if fold.forward else "down",
                    "down": "down" if fold.forward else "up",
                    "loop": f"{slide.loop.func}.{slide.loop.loop}",
                    "legal": "Write fold_storage without false"
                    if slide.forward
                    else "Write fold_storage with false as its last argument",
                },
            )


@nest_rule(
    "storage.fold-too-small",
    "A fold by less than the number of values that are still to be read is illegal, because new "
    "values would overwrite them.",
    "Halide checks it only when the pipeline runs [RK13 4.3].",
    factor=Quantity("fold factor", "values"),
    least=Quantity("values along the dimension that are needed at one time", "values"),
)
def fold_too_small(view: NestView, func: str) -> Iterator[Check]:
    """One check for each folded dimension."""
    placement = view.placement(func)
    for fold in view.nest.schedule.of(func).folds:
        fewest = placement.storage.least_folds[placement.function.args.index(fold.dimension)]
        least = view.largest(fewest, placement.path[: placement.store_depth])
        yield check(
            func,
            factor_expr(fold.factor) >= least,
            "{directive} keeps {factor} of the values of {func} along {dimension}, but {least} are "
            "still to be read while more are computed: {reason}.",
            "Fold by at least {least}.",
            loop=fold.dimension,
            directive=fold_directive(func, fold),
            reason=partial(_live, view, func, fold.dimension),
            dimension=fold.dimension,
            factor=factor_expr(fold.factor),
            least=least,
        )


def _live(view: NestView, func: str, dimension: str) -> str:
    """The values of a Func along a dimension that are still read while more are computed."""
    placement = view.placement(func)
    d = placement.function.args.index(dimension)
    readers = listed(dict.fromkeys(stage_name(*use) for use in view.nest.levels.uses(func)))
    stored, window = placement.storage.stored[d], placement.required[d]
    if placement.storage.least_folds[d] is view.simplify(_extent(stored)):
        return (
            f"{readers} reads {_span(placement.path, stored)}, all that is stored, again and again"
        )
    loops = [f"{p.func}.{p.loop}" for p in placement.between[-1:]]
    where = f"each iteration of {loops[0]}" if loops else "one visit"
    return f"in {where}, {readers} reads {_span(placement.path, window)}"


def _extent(interval: Interval) -> Expr:
    low, high = interval.min, interval.max
    return constant(0, Int32) if low is None or high is None else high - low + 1


def _span(path: tuple[LoopVar, ...], interval: Interval) -> str:
    """``by.y to by.y + 2``: loops as a schedule names them."""
    ends = [str(end) for end in (interval.min, interval.max)]
    for loop in path:
        ends = [end.replace(loop.var.name, f"{loop.func}.{loop.loop}") for end in ends]
    return f"the values from {ends[0]} to {ends[1]}"


def memory_types(kinds: Container[LoopKind]) -> tuple[MemoryType, ...]:
    """The memory types, other than AUTO, of a Func that is stored inside loops of these kinds."""
    if LoopKind.GPU_THREAD in kinds:
        return PRIVATE
    if LoopKind.GPU_BLOCK in kinds:
        return (MemoryType.GPU_SHARED,)
    return (MemoryType.HEAP, *PRIVATE)


@call_rule(
    "storage.memory-kind",
    "A memory type that does not exist where the Func is allocated is illegal: outside kernels "
    "there are heap, stack and registers, for a block shared memory, for a thread stack and "
    "registers, because each memory belongs to one of these.",
    "Halide does not check it; some of its kernels then compute nothing.",
)
def memory_kind(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    path, depth = records.compute_path(func), records.store_depth(func)
    memory = records.entry(func).memory
    stored = func in records.computed and func not in records.pipeline.outputs
    if not stored or path is None or depth is None or memory is MemoryType.AUTO:
        return
    kinds = set(records.kinds(path[:depth]))
    legal = memory_types(kinds)
    if memory in legal:
        return
    place = "outside all kernels"
    if LoopKind.GPU_THREAD in kinds:
        place = "inside the thread loops of a kernel"
    elif LoopKind.GPU_BLOCK in kinds:
        place = "for a whole block of a kernel"
    if MemoryType.HEAP in legal and kernel_use(records, func):
        legal = (MemoryType.HEAP,)
    reason = ""
    if LoopKind.GPU_BLOCK in kinds and memory in PRIVATE:
        reason = "; each thread would have its own and could not read the others'"
    yield refuse(
        func,
        "{directive} stores {func} in {memory}, but by {store} it is stored {place}{reason}.",
        "Legal kinds of memory there are {legal}.",
        loop=records.entry(func).store.loop if path[:depth] else "",
        directive=memory_directive(func, memory),
        memory=str(memory),
        store=store_directive(records.entry(func)),
        place=place,
        reason=reason,
        legal=listed(kind.qualified for kind in (MemoryType.AUTO, *legal)),
    )


@call_rule(
    "storage.host-memory-in-kernel",
    "The stack or registers of the CPU are illegal for a Func that a kernel reads or writes, "
    "because the GPU does not reach them.",
    "The memory hierarchy of CUDA C++.",
)
def host_memory_in_kernel(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    computed, depth = records.compute_path(func), records.store_depth(func)
    memory = records.entry(func).memory
    stored = func in records.computed and func not in records.pipeline.outputs
    if not stored or computed is None or depth is None or memory not in PRIVATE:
        return
    if LoopKind.GPU_BLOCK in records.kinds(computed[:depth]):
        return
    use = kernel_use(records, func)
    if use is not None:
        yield refuse(
            func,
            "{directive} stores {func} in {memory} of the CPU, but it is used in the kernel of "
            "{user}, which cannot reach it.",
            "Store it in MemoryType::Heap, or inside the kernel.",
            directive=memory_directive(func, memory),
            memory=str(memory),
            user=stage_name(*use),
        )


def kernel_use(records: Records, func: str) -> tuple[str, int] | None:
    """A stage that writes or reads a Func inside a kernel, or None."""
    for user in _users(records, func):
        path = records.path(*user)
        if path is not None and LoopKind.GPU_BLOCK in records.kinds(path):
            return user
    return None


def _users(records: Records, func: str) -> list[tuple[str, int]]:
    own = [(func, stage) for stage in range(len(records.entry(func).stages))]
    return [*own, *records.levels.uses(func)]


RULES = (
    fold_dimension,
    fold_output,
    fold_factor,
    fold_direction,
    fold_too_small,
    memory_kind,
    host_memory_in_kernel,
)
