"""Rules about the layout of storage, and the place where its memory is obtained."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.directive_text import (
    hoist_directive,
    order_directive,
    pad_directive,
    storage_bound_directive,
)
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import (
    Check,
    Quantity,
    call_rule,
    check,
    nest_rule,
    own_rule,
    refuse,
)
from spaces.constraints.rules.storage import kernel_use
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import Bool, Int32
from spaces.model.schedules.schedule import ROOT


def _written(records: Records, func: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The directives about the layout of a Func, with the dimensions they name."""
    entry = records.entry(func)
    for order in entry.storage_orders:
        yield order_directive(func, order), order
    for pad in entry.pads:
        yield pad_directive(func, pad), (pad.dimension,)
    for bound in entry.storage_bounds:
        yield storage_bound_directive(func, bound), (bound.dimension,)


@own_rule(
    "storage.layout-dimension",
    "A directive on the layout of storage is illegal if it names a dimension that the Func lacks, "
    "or one dimension twice, because storage has each dimension once.",
    "Halide's reorder_storage, align_storage and bound_storage take Vars of the Func.",
)
def layout_dimension(records: Records, func: str) -> Iterator[Check]:
    """One check for each name that is not a dimension, or appears twice."""
    args = records.function(func).args
    for directive, names in _written(records, func):
        for name in dict.fromkeys(names):
            if name in args and names.count(name) == 1:
                continue
            problem = "is no dimension of it" if name not in args else "is named twice"
            yield refuse(
                func,
                "{directive} lays out {func} along {dimension}, which {problem}.",
                "Its dimensions are {legal}.",
                loop=name,
                directive=directive,
                dimension=name,
                problem=problem,
                legal=listed(args),
            )


@own_rule(
    "storage.layout-output",
    "A directive on the layout of an output's storage is illegal, because the caller's array "
    "already has an order and strides.",
    "Halide, too, takes the caller's strides.",
)
def layout_output(records: Records, func: str) -> Iterator[Check]:
    """One check for each directive about the layout of an output."""
    if func in records.pipeline.outputs:
        for directive, names in _written(records, func):
            yield refuse(
                func,
                "{directive} lays out {func}, but it is an output: its array is the caller's.",
                "Leave it out, and pass an array with the strides that are wanted.",
                loop=names[0] if names else "",
                directive=directive,
            )


@own_rule(
    "storage.layout-range",
    "An alignment or bound of storage below 1 or above 2147483647 is illegal, because strides and "
    "extents are positive and int32.",
    "Halide's align_storage pads strides to multiples; its bound_storage sets extents.",
    number=Quantity("alignment or bound that the directive gives", "values"),
)
def layout_range(records: Records, func: str) -> Iterator[Check]:
    """One check for each padded or bounded dimension."""
    entry = records.entry(func)
    numbers = [(pad_directive(func, p), p.dimension, p.multiple) for p in entry.pads]
    numbers += [
        (storage_bound_directive(func, b), b.dimension, b.extent) for b in entry.storage_bounds
    ]
    for directive, dimension, number in numbers:
        yield check(
            func,
            constant(1 <= number <= Int32.max_value, Bool),
            "{directive} lays out {func} along {dimension} by {number}.",
            "It is at least 1 and at most 2147483647.",
            loop=dimension,
            directive=directive,
            dimension=dimension,
            number=number,
        )


@nest_rule(
    "storage.bound-too-small",
    "A `bound_storage` by less than what is stored is illegal, because values would lie outside "
    "the storage.",
    "Halide refuses it while lowering where it knows the size, and otherwise when the pipeline "
    "runs.",
    extent=Quantity("bound that the directive gives", "values"),
    needed=Quantity("values that are stored along the dimension", "values"),
)
def bound_too_small(view: NestView, func: str) -> Iterator[Check]:
    """One check for each dimension whose storage is bounded."""
    placement = view.placement(func)
    for bound in view.nest.schedule.of(func).storage_bounds:
        d = placement.function.args.index(bound.dimension)
        stored = placement.storage.needed(d)
        path = placement.path[: placement.store_depth]
        needed = view.largest(view.simplify(stored), path)
        yield check(
            func,
            needed <= constant(bound.extent, Int32),
            "{directive} stores {extent} values of {func} along {dimension}, but {needed} are "
            "needed.",
            "Bound it by at least {needed}.",
            loop=bound.dimension,
            directive=storage_bound_directive(func, bound),
            extent=bound.extent,
            dimension=bound.dimension,
            needed=needed,
        )


@call_rule(
    "call.hoist-level",
    "A hoist level inside the store level, or outside a loop whose iterations run concurrently, "
    "is illegal, because memory must exist before it is used and such iterations would share it.",
    "Halide refuses these levels.",
)
def hoist_level(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry, path, depth = records.entry(func), records.compute_path(func), records.store_depth(func)
    stored = func in records.computed and func not in records.pipeline.outputs
    if not stored or not entry.is_hoisted or path is None or depth is None:
        return
    around = path[:depth]
    levels = [ROOT, *(loop.level for loop in around)]
    shared = [i for i, loop in enumerate(around) if records.levels.kind(loop).is_concurrent]
    legal = levels[shared[-1] + 1 if shared else 0 :]
    if entry.hoist in legal:
        return
    reason = "which is neither its store level nor outside of it"
    if entry.hoist in levels:
        at_once = around[shared[-1]]
        kind = records.levels.kind(at_once)
        reason = f"outside the {kind} loop {at_once.level}, whose iterations would share it"
    yield refuse(
        func,
        "{directive} obtains the memory of {func} at {level}, {reason}.",
        "Legal levels are {legal}.",
        loop=entry.hoist.loop if not entry.hoist.is_root else "",
        directive=hoist_directive(entry),
        level=str(entry.hoist),
        reason=reason,
        legal=listed(map(str, legal)),
    )


@call_rule(
    "gpu.hoisted-storage",
    "A hoisted Func in a kernel is illegal, because the compiler lays out the memory of a kernel "
    "once for each block or thread.",
    "The memory of a kernel lasts as long as the kernel.",
)
def hoisted_for_kernel(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    if func not in records.computed or not entry.is_hoisted:
        return
    user = kernel_use(records, func)
    if user is not None:
        yield refuse(
            func,
            "{directive} hoists the storage of {func}, but the kernel of {user} uses it.",
            "Leave it out.",
            directive=hoist_directive(entry),
            user=stage_name(*user),
        )


@nest_rule(
    "storage.hoist-size",
    "A hoist out of a loop on which the size of the storage depends is illegal if the size has no "
    "limit outside that loop, because the allocation must know its size.",
    "Halide refuses it where it finds no limit.",
)
def hoist_size(view: NestView, func: str) -> Iterator[Check]:
    """One check for each dimension without a limit."""
    extents = view.nest.hoisted.get(func, ())
    entry, placement = view.nest.schedule.of(func), view.placement(func)
    depth = len(view.nest.levels.hoist_path(func)) if extents else 0
    inside = placement.path[depth:]
    for dimension, extent in zip(placement.function.args, extents, strict=False):
        named = [f"{p.func}.{p.loop}" for p in inside if p.var.name in extent.names]
        if not named:
            continue
        yield refuse(
            func,
            "{directive} obtains the memory of {func} outside of {loops}, on which its extent "
            "along {dimension} depends, and no limit of it is known.",
            "Hoist it out of fewer loops, or leave it out.",
            loop=dimension,
            directive=hoist_directive(entry),
            dimension=dimension,
            loops=listed(named),
        )


RULES = (
    layout_dimension,
    layout_output,
    layout_range,
    bound_too_small,
    hoist_level,
    hoisted_for_kernel,
    hoist_size,
)
