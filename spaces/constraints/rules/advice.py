"""Advice on directives without an effect.

A schedule that gets advice is legal, and computes the same without the directive. Advice that
depends on sizes uses the estimates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.rules.directive_text import (
    bound_directive,
    fold_directive,
    kind_directive,
    level_directive,
    memory_directive,
    order_directive,
    pad_directive,
    setting_directive,
    split_directive,
    storage_bound_directive,
)
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.rule import VIOLATED, Check, Quantity, advice_rule, check, refuse
from spaces.model.algorithm.undefined import read_undefined
from spaces.model.expressions.expr import Expr, compare, component_name, constant
from spaces.model.expressions.types import Int32
from spaces.model.nest.splits import factor_expr
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop, Split, Tail
from spaces.model.schedules.schedule import FuncSchedule, MemoryType, StageOf

_ONE = constant(1, Int32)

_GPU_PAIR = {LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD}


@advice_rule(
    "advice.no-kernel",
    "A schedule for a GPU without a block loop has no effect on the GPU, because the CPU then "
    "computes everything.",
    "Only block loops become kernels.",
)
def no_kernel(view: NestView, func: str) -> Iterator[Check]:
    """At most one check, with the last output."""
    if not isinstance(view.device, GpuDevice) or func != view.nest.pipeline.outputs[-1]:
        return
    entries = (view.records.entry(name) for name in view.records.computed)
    kinds = {loop.kind for entry in entries for order in entry.stages for loop in order.loops}
    if not any(kind.is_gpu for kind in kinds):
        yield refuse(
            func,
            "No loop runs on the GPU {device}: the CPU computes everything.",
            "Map loops of {func} to the GPU with gpu_tile.",
            device=view.device.name,
        )


@advice_rule(
    "advice.inlined-order",
    "Loop directives on an inlined Func have no effect, because an inlined Func has no loops.",
    "Halide warns of splits of an inlined Func and refuses loop kinds there.",
)
def inlined_order(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    if not view.records.is_inlined(func):
        return
    dimensions = view.records.function(func).stages[0].dimensions
    plain = DomainOrder(loops=tuple(OrderedLoop(d) for d in reversed(dimensions)))
    if view.records.entry(func).stages[0] != plain:
        yield refuse(
            func,
            "The loops of {func} are scheduled, but it is inlined and has none.",
            "Compute it at root or at a loop of a Func that reads it, or leave these directives "
            "out.",
        )


@advice_rule(
    "advice.inlined-storage",
    "Storage directives on an inlined Func have no effect, because an inlined Func has no storage.",
    "Inlining replaces each read by the definition [RK13 3.2].",
)
def inlined_storage(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = view.records.entry(func)
    written = [fold_directive(func, fold) for fold in entry.folds]
    if entry.memory is not MemoryType.AUTO:
        written.append(memory_directive(func, entry.memory))
    written += [order_directive(func, order) for order in entry.storage_orders]
    written += [pad_directive(func, pad) for pad in entry.pads]
    written += [storage_bound_directive(func, bound) for bound in entry.storage_bounds]
    written += [bound_directive(func, bound) for bound in entry.bounds]
    written += _running_ahead(entry)
    if not written or not view.records.is_inlined(func):
        return
    yield refuse(
        func,
        "{directives} schedules the storage or bounds of {func}, but it is inlined and has none.",
        "Compute it at root or at a loop of a Func that reads it, or leave this out.",
        directives=listed(written),
    )


@advice_rule(
    "advice.output-memory",
    "A memory type, `ring_buffer` or `async` of an output has no effect, because the caller "
    "provides the storage of an output, and nothing reads it meanwhile.",
    "The caller's buffer is where it is.",
)
def output_memory(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = view.records.entry(func)
    written = _running_ahead(entry)
    if entry.memory is not MemoryType.AUTO:
        written.append(memory_directive(func, entry.memory))
    if func in view.nest.pipeline.outputs and written:
        yield refuse(
            func,
            "{directives} is about the storage of {func}, but it is an output: the caller provides "
            "its storage.",
            "Leave it out.",
            directives=listed(written),
        )


@advice_rule(
    "advice.async",
    "An asynchronous Func has no effect here, because code of this library computes each Func "
    "before its readers; the values are the same.",
    "Halide computes it in another thread, beside its readers.",
)
def in_sequence(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = view.records.entry(func)
    is_output = func in view.nest.pipeline.outputs
    if entry.asynchronous and not is_output and not view.records.is_inlined(func):
        yield refuse(
            func,
            "{directive} lets other threads compute {func} while its readers run; here {func} is "
            "computed first, then its readers run, and the values are the same.",
            "Keep it for Halide, or leave it out.",
            directive=setting_directive(entry, "asynchronous"),
        )


def _running_ahead(entry: FuncSchedule) -> list[str]:
    """The directives that let a Func be computed before its values are read."""
    return [
        setting_directive(entry, setting)
        for setting in ("asynchronous", "ring")
        if getattr(entry, setting)
    ]


@advice_rule(
    "advice.split-by-one",
    "A split by 1 has no effect, unless it makes a block loop and a thread loop, because its "
    "inner loop has one iteration.",
    "A split divides a loop by its factor.",
    factor=Quantity("factor of the split", "iterations"),
)
def split_by_one(view: NestView, func: str) -> Iterator[Check]:
    """One check for each split by 1 of a computed Func."""
    if view.records.is_inlined(func):
        return
    for stage, order in enumerate(view.records.entry(func).stages):
        for index, record in enumerate(order.splits):
            if not isinstance(record, Split) or record.factor != 1:
                continue
            if {order.kind(record.outer), order.kind(record.inner)} == _GPU_PAIR:
                continue
            yield refuse(
                func,
                "{directive} splits {loop} by {factor}: {outer} runs all iterations and {inner} "
                "one.",
                "Split by more, or leave it out.",
                stage=stage,
                loop=record.old,
                directive=split_directive(view.records, func, stage, index),
                factor=1,
                outer=record.outer,
                inner=record.inner,
            )


@advice_rule(
    "advice.single-iteration",
    "A parallel, vectorized or unrolled loop of one iteration has no effect, because there is "
    "nothing to run concurrently or to copy.",
    "These loop kinds concern two or more iterations.",
    extent=Quantity("iterations of the loop", "iterations"),
)
def single_iteration(view: NestView, func: str) -> Iterator[Check]:
    """One check for each such loop of a computed Func."""
    if view.records.is_inlined(func):
        return
    for stage, path in enumerate(view.paths(func)):
        for i, loop in enumerate(path):
            if loop.kind is LoopKind.SERIAL or loop.kind.is_gpu:
                continue
            if (loop.func, loop.stage) != (func, stage):
                continue
            most = view.largest(loop.extent, path[:i])
            yield check(
                func,
                most > _ONE,
                "{directive} has no effect: loop {loop} of {stage_name} has {extent} iteration.",
                "Leave it out, or choose factors that leave {loop} more.",
                stage=stage,
                loop=loop.loop,
                directive=partial(kind_directive, view.records, func, stage, loop.loop),
                extent=most,
            )


@advice_rule(
    "advice.tail-never-reached",
    "A tail for a split whose factor divides the loop has no effect, because no iteration is left "
    "over.",
    "The inner loop of a split has as many iterations as its factor says.",
    factor=Quantity("factor of the split", "iterations"),
    extent=Quantity("iterations of the loop that it splits", "iterations"),
)
def tail_never_reached(view: NestView, func: str) -> Iterator[Check]:
    """One check for each split with a tail of a loop that an earlier split made."""
    if view.records.is_inlined(func):
        return
    for stage, order in enumerate(view.records.entry(func).stages):
        extents: dict[str, Expr] = {}
        for index, record in enumerate(order.splits):
            if not isinstance(record, Split):
                extents.pop(record.fused, None)
                continue
            extent, factor = extents.pop(record.old, None), factor_expr(record.factor)
            extents.pop(record.outer, None)
            extents[record.inner] = factor
            if extent is None or record.tail is Tail.AUTO:
                continue
            yield check(
                func,
                compare("ne", extent % factor, constant(0, Int32)),
                "{directive} chooses the tail {tail}, but {loop} has {extent} iterations, which "
                "{factor} divides: there is no tail.",
                "Leave the tail out.",
                stage=stage,
                loop=record.old,
                directive=partial(split_directive, view.records, func, stage, index),
                tail=str(record.tail),
                extent=extent,
                factor=factor,
            )


@advice_rule(
    "advice.fold-too-large",
    "A fold by as many values as are stored anyway, or more, has no effect, because a coordinate "
    "modulo a larger number stays as it is.",
    "[RK13 4.3]",
    factor=Quantity("fold factor", "values"),
    extent=Quantity("values along the dimension that are stored without a fold", "values"),
)
def fold_too_large(view: NestView, func: str) -> Iterator[Check]:
    """One check for each fold of a computed Func."""
    if view.records.is_inlined(func):
        return
    placement = view.placement(func)
    for fold in view.records.entry(func).folds:
        whole = placement.storage.stored[placement.function.args.index(fold.dimension)]
        if whole.min is None or whole.max is None:
            continue
        extent = view.simplify(whole.max - whole.min + 1)
        yield check(
            func,
            factor_expr(fold.factor) < extent,
            "{directive} keeps {factor} values along {dimension}, but only {extent} are stored "
            "there without it.",
            "Leave it out, or store {func} outside a loop along {dimension}.",
            loop=fold.dimension,
            directive=fold_directive(func, fold),
            factor=factor_expr(fold.factor),
            dimension=fold.dimension,
            extent=extent,
        )


@advice_rule(
    "advice.no-window",
    "A store level outside the compute level has no effect if no loop between them slides a "
    "window, because every iteration then computes all of its values anew.",
    "A window slides only along a serial loop in which the region moves one way along one "
    "dimension; updates must leave that dimension alone, and no split may divide it in a Func "
    "with updates [RK13 4.3].",
)
def no_window(view: NestView, func: str) -> Iterator[Check]:
    """At most one check."""
    if view.records.is_inlined(func):
        return
    placement, entry = view.placement(func), view.records.entry(func)
    if placement.between and not placement.storage.slides:
        yield refuse(
            func,
            "{store} keeps the storage of {func} over the loops {loops}, but each iteration of "
            "these loops computes all values that it reads: no window slides.",
            "Leave it out, or compute {func} where a serial loop moves it along one dimension.",
            loop=entry.store.loop if not entry.store.is_root else "",
            store=level_directive(func, "store", entry.store),
            loops=listed(f"{loop.func}.{loop.loop}" for loop in placement.between),
        )


@advice_rule(
    "advice.level-of-one-iteration",
    "A compute level at a loop of one iteration has no effect, because it equals the next loop "
    "level outside.",
    "A loop of one iteration has the region of its body.",
    extent=Quantity("iterations of the loop", "iterations"),
)
def level_of_one_iteration(view: NestView, func: str) -> Iterator[Check]:
    """At most one check; none for loops of a GPU, inside which a Func may have to be."""
    if view.records.is_inlined(func) or not view.placement(func).path:
        return
    path = view.placement(func).path
    if path[-1].kind.is_gpu:
        return
    level = view.records.entry(func).compute
    most = view.largest(path[-1].extent, path[:-1])
    outside = f"{path[-2].func}.{path[-2].loop}" if len(path) > 1 else "root"
    yield check(
        func,
        most > _ONE,
        "{directive} names a loop that has {extent} iteration.",
        "It is the same as computing {func} at {outside}.",
        loop=level.loop,
        directive=level_directive(func, "compute", level),
        extent=most,
        outside=outside,
    )


@advice_rule(
    "advice.fused-partition",
    "A `partition` directive on a loop of a stage with `compute_with` has no effect, because the "
    "loop of the other stage runs in its place.",
    "Halide ignores it, too.",
)
def fused_partition(view: NestView, func: str) -> Iterator[Check]:
    """One check for each loop of a stage that runs as the loop of another one."""
    levels = view.records.levels
    for index, order in enumerate(view.records.entry(func).stages):
        stage = StageOf(func, index)
        owners = {place.loop: place for place in levels.fused.get(stage, ())}
        for one in order.partitions:
            place = owners.get(one.loop)
            if place is None:
                continue
            owner = stage_name(place.func, place.stage)
            yield Check(
                func,
                VIOLATED,
                "{stage}.partition({loop}, Partition::{policy}) names a loop that runs as a loop "
                "of {owner}.",
                "Write it on {owner} instead.",
                stage=index,
                loop=one.loop,
                values={"stage": str(stage), "policy": one.policy.spelled, "owner": owner},
            )


@advice_rule(
    "advice.undefined",
    "A Func that is read before a definition gives it a value yields arbitrary results, because "
    "its memory holds whatever was there.",
    "Halide stores nothing where a definition is undef.",
)
def undefined(view: NestView, func: str) -> Iterator[Check]:
    """One check for each component without a value."""
    function = view.records.function(func)
    for component, stage in read_undefined(function):
        name = component_name(func, function.components[component])
        reason = f"{stage_name(func, stage)} reads it" if stage else "no update stores it either"
        yield refuse(
            func,
            "The definition of {name} is undef, and {reason}: its values are whatever "
            "its memory holds.",
            "Give it a value in the definition, or an update that stores it first.",
            stage=stage,
            name=name,
            reason=reason,
        )


RULES = (
    no_kernel,
    undefined,
    inlined_order,
    inlined_storage,
    output_memory,
    in_sequence,
    split_by_one,
    single_iteration,
    tail_never_reached,
    fold_too_large,
    no_window,
    level_of_one_iteration,
    fused_partition,
)
