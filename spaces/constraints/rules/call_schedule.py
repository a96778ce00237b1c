"""Rules about where a Func is computed and stored."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.directive_text import (
    hoist_directive,
    kind_directive,
    level_directive,
    store_directive,
)
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, Quantity, call_rule, own_rule, refuse
from spaces.model.schedules.levels import LevelError, Path
from spaces.model.schedules.schedule import INLINE, LoopLevel


@own_rule(
    "call.output-at-root",
    "An output that is not computed and stored at root is illegal, because the caller provides "
    "its storage and no loops of another Func surround it.",
    "Halide computes outputs at root.",
)
def output_at_root(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    at_root = entry.compute.is_root and entry.store.is_root and not entry.is_hoisted
    if func in records.pipeline.outputs and not at_root:
        moved = hoist_directive(entry) if entry.compute.is_root else ""
        if not entry.store.is_root:
            moved = store_directive(entry)
        yield refuse(
            func,
            "{directive} moves {func}, which is an output of the pipeline.",
            "Outputs are computed and stored at {legal}; tile or reorder {func} instead.",
            directive=level_directive(func, "compute", entry.compute)
            if not entry.compute.is_root
            else moved,
            legal="root",
        )


@call_rule(
    "call.inline-update",
    "An inlined Func that is read is illegal if it has updates or foreign code computes it, "
    "because there is no single expression to substitute.",
    "Halide computes such a Func anew around each store that reads it.",
    updates=Quantity("update stages of the Func", "stages"),
)
def inline_update(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    function = records.function(func)
    inline = records.entry(func).compute.is_inline and func not in records.pipeline.outputs
    if inline and function.is_opaque and func in records.computed:
        yield refuse(
            func,
            "{directive} inlines {func}, but foreign code computes it, and what it computes needs "
            "storage.",
            "Compute it at root, or at a loop of a Func that reads it.",
            directive=level_directive(func, "compute", INLINE),
        )
    elif inline and not function.is_pure and func in records.computed:
        yield refuse(
            func,
            "{directive} inlines {func}, but it has {updates} update stage{s}, and updates need "
            "storage.",
            "Compute it at root, or at a loop of a Func that reads it.",
            directive=level_directive(func, "compute", INLINE),
            updates=len(function.stages) - 1,
            s="s" * (len(function.stages) > 2),
        )


@own_rule(
    "call.inline-storage",
    "A store or hoist level for an inlined Func is illegal, and so is a computed Func without a "
    "store level, because exactly the computed Funcs have storage.",
    "Halide refuses store_at or store_root without compute_at or compute_root.",
)
def inline_storage(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    outputs = records.pipeline.outputs
    hoisted = entry.compute.is_inline and not entry.hoist.is_inline
    if func not in outputs and hoisted:
        yield refuse(
            func,
            "{hoist} obtains memory for {func}, which is inlined: it is not stored anywhere.",
            "Add compute_root or compute_at, or leave it out.",
            hoist=hoist_directive(entry),
        )
    elif func not in outputs and entry.compute.is_inline is not entry.store.is_inline:
        yield refuse(
            func,
            "{store} stores {func}, which is inlined: it is not stored anywhere."
            if entry.compute.is_inline
            else "{compute} computes {func}, but it is not stored; what is computed outside its "
            "consumers must be.",
            "Add compute_root or compute_at, or leave the storage out."
            if entry.compute.is_inline
            else "Store it where it is computed, or outside.",
            compute=level_directive(func, "compute", entry.compute),
            store=level_directive(func, "store", entry.store),
        )


@call_rule(
    "call.compute-level",
    "A compute level that does not enclose every use of the Func is illegal, because values "
    "computed in a loop exist only inside it.",
    "Halide refuses other levels [RK13 4.1].",
)
def compute_level(records: Records, func: str) -> Iterator[Check]:
    """At most one check; none if the level of a consumer is illegal, or if nobody reads the Func,
    which is another rule.
    """
    level = records.entry(func).compute
    if func not in records.computed or level.is_root or level.is_inline:
        return
    if not records.levels.uses(func):
        return
    if func in records.pipeline.outputs or records.compute_path(func) is not None:
        return
    legal = enclosing(records, func)
    if legal is None:
        return
    readers = dict.fromkeys(stage_name(*use) for use in records.levels.uses(func))
    yield refuse(
        func,
        "{directive} does not enclose every use of {func} (the readers are {readers}): {reason}.",
        "Levels that enclose them: {legal}.",
        loop=level.loop,
        directive=level_directive(func, "compute", level),
        readers=listed(readers),
        reason=_why_not(records, func, level),
        legal=_levels(legal),
    )


def _why_not(records: Records, func: str, level: LoopLevel) -> str:
    """The reason why a level does not enclose every use of a Func."""
    known = {function.name for function in records.pipeline.functions}
    if level.func not in known:
        return f"there is no Func {level.func}"
    if level.func == func:
        return f"the loops of {func} itself lie inside it"
    if records.is_inlined(level.func):
        return f"{level.func} is inlined and has no loops"
    orders = records.entry(level.func).stages
    if all(level.loop not in order.names for order in orders):
        loops = dict.fromkeys(name for order in orders for name in order.names)
        return f"{level.func} has no loop {level.loop}, only {listed(loops)}"
    outside = [
        stage_name(*use)
        for use in records.levels.uses(func)
        if not any(records.levels.is_at(func, level, p) for p in records.path(*use) or ())
    ]
    if outside:
        return f"{listed(outside)} {'lies' if len(outside) == 1 else 'lie'} outside {level}"
    return f"each of them has its own loop {level}"


def _levels(path: Path) -> str:
    return listed(["root", *(str(loop.level) for loop in path)])


@call_rule(
    "call.store-level",
    "A store level inside the compute level is illegal, because storage must exist before the "
    "Func is computed.",
    "Halide refuses a store level inside the compute level [RK13 3.2].",
)
def store_level(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    path, level = records.compute_path(func), records.entry(func).store
    stored = func in records.computed and func not in records.pipeline.outputs
    if not stored or path is None or records.store_depth(func) is not None:
        return
    yield refuse(
        func,
        "{directive} stores {func} neither at nor outside its compute level {compute}.",
        "Legal store levels are {legal}.",
        loop=level.loop,
        directive=level_directive(func, "store", level),
        compute=str(records.entry(func).compute),
        legal=_levels(path),
    )


@call_rule(
    "call.unread",
    "A compute level for a Func that no other Func reads, and that is not an output, is illegal, "
    "because nothing determines the region to compute.",
    "Bounds inference starts from the uses of a Func [RK13 4.2].",
)
def unread(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    if func not in records.computed or func in records.pipeline.outputs:
        return
    if not records.levels.uses(func):
        yield refuse(
            func,
            "{directive} computes {func}, but no Func reads it once the inlined Funcs are "
            "substituted.",
            "Inline it, or compute one of the Funcs that read it ({readers}).",
            directive=level_directive(func, "compute", records.entry(func).compute),
            readers=listed(records.pipeline.consumers(func)),
        )


@call_rule(
    "race.shared-storage",
    "A store level outside a parallel, vectorized or GPU loop and a compute level inside it are "
    "illegal together, because iterations of that loop would overwrite each other's values.",
    "Halide refuses it [RK13 4.3].",
)
def shared_storage(records: Records, func: str) -> Iterator[Check]:
    """One check for each such loop between storage and computation."""
    path, depth = records.compute_path(func), records.store_depth(func)
    stored = func in records.computed and func not in records.pipeline.outputs
    if not stored or path is None or depth is None:
        return
    for i, loop in enumerate(path[depth:], start=depth):
        kind = records.levels.kind(loop)
        if kind.is_concurrent:
            yield refuse(
                func,
                "{store} stores {func} outside the {kind} loop {place}, inside which {compute} "
                "computes it: iterations of {place} that run at once ({directive}) would share "
                "the storage.",
                "Store it at {legal}, or compute it outside {place}.",
                loop=loop.loop,
                store=level_directive(func, "store", records.entry(func).store),
                compute=level_directive(func, "compute", records.entry(func).compute),
                directive=kind_directive(records, loop.func, loop.stage, loop.loop),
                kind=str(kind),
                place=str(loop.level),
                legal=_store_levels(records, path[i:]),
            )


def _store_levels(records: Records, path: Path) -> str:
    """The levels of ``path`` that have no concurrent loop inside them."""
    last = max(i for i, loop in enumerate(path) if records.levels.kind(loop).is_concurrent)
    return " or ".join(str(loop.level) for loop in path[last:])


def enclosing(records: Records, func: str) -> Path | None:
    """The loops around every use of a Func; None if a use is at an illegal level."""
    try:
        return records.levels.enclosing(func)
    except LevelError:
        return None


RULES = (
    output_at_root,
    inline_update,
    inline_storage,
    compute_level,
    store_level,
    unread,
    shared_storage,
)
