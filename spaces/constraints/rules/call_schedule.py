"""Rules about where a Func is computed and stored."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, call_rule, own_rule
from spaces.model.levels import LevelError, Path
from spaces.model.schedule import LoopKind


@own_rule(
    "call.output-at-root",
    "An output is computed and stored at root.",
    "The caller provides the storage of an output, and no other Func's loops surround it.",
)
def output_at_root(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    if func in records.pipeline.outputs and not (entry.compute.is_root and entry.store.is_root):
        yield Check(
            func,
            VIOLATED,
            "{func} is an output of the pipeline but is computed at {compute} and stored at "
            "{store}.",
            "Outputs are computed and stored at {legal}; tile or reorder {func} instead.",
            values={
                "func": func,
                "compute": str(entry.compute),
                "store": str(entry.store),
                "legal": "root",
            },
        )


@own_rule(
    "call.inline-update",
    "A Func with update stages is not inlined.",
    "Halide refuses it: there is no one expression to substitute.",
)
def inline_update(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    function = records.function(func)
    inline = records.entry(func).compute.is_inline and func not in records.pipeline.outputs
    if inline and not function.is_pure:
        yield Check(
            func,
            VIOLATED,
            "{func} is inlined, but it has {updates} update stages, which need storage to update.",
            "Compute it at root, or at a loop of a Func that reads it.",
            values={"func": func, "updates": len(function.stages) - 1},
        )


@own_rule(
    "call.inline-storage",
    "An inlined Func has no storage, and a computed Func has some.",
    "Halide refuses store_at or store_root without compute_at or compute_root.",
)
def inline_storage(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    outputs = records.pipeline.outputs
    if func not in outputs and entry.compute.is_inline is not entry.store.is_inline:
        yield Check(
            func,
            VIOLATED,
            "{func} is computed {compute} but stored {store}: "
            + (
                "an inlined Func is not stored anywhere."
                if entry.compute.is_inline
                else "what is computed outside its consumers must be stored."
            ),
            "Add compute_root or compute_at, or leave the storage out."
            if entry.compute.is_inline
            else "Store it where it is computed, or outside.",
            values={"func": func, "compute": _at(entry.compute), "store": _at(entry.store)},
        )


@call_rule(
    "call.compute-level",
    "The compute level of a Func encloses every use of it.",
    "What is computed at a loop exists only inside it [RK13 4.1]; Halide refuses other levels.",
)
def compute_level(records: Records, func: str) -> Iterator[Check]:
    """At most one check; none where the level of a consumer is itself illegal."""
    level = records.entry(func).compute
    if func not in records.computed or level.is_root or level.is_inline:
        return
    if func in records.pipeline.outputs or records.site(func) is not None:
        return
    legal = enclosing(records, func)
    if legal is None:
        return
    readers = listed(dict.fromkeys(reader for reader, _ in records.levels.uses(func)))
    yield Check(
        func,
        VIOLATED,
        "{func} is computed at {level}, which does not enclose every use of {func} (by {readers}).",
        "Levels that do: {legal}.",
        loop=level.loop,
        values={
            "func": func,
            "level": str(level),
            "readers": readers,
            "legal": listed(["root", *(str(place.level) for place in legal)]),
        },
    )


@call_rule(
    "call.store-level",
    "A Func is stored at its compute level or at a loop outside it.",
    "Halide refuses a store level inside the compute level [RK13 3.2].",
)
def store_level(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    site, level = records.site(func), records.entry(func).store
    stored = func in records.computed and func not in records.pipeline.outputs
    if not stored or site is None or records.store_depth(func) is not None:
        return
    yield Check(
        func,
        VIOLATED,
        "{func} is stored at {level}, which is not at or outside its compute level {compute}.",
        "Legal store levels are {legal}.",
        loop=level.loop,
        values={
            "func": func,
            "level": str(level),
            "compute": str(records.entry(func).compute),
            "legal": listed(["root", *(str(place.level) for place in site)]),
        },
    )


@call_rule(
    "call.unread",
    "A computed Func is read by another, or is an output.",
    "Without a use there is no region to compute.",
)
def unread(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    if func not in records.computed or func in records.pipeline.outputs:
        return
    if not records.levels.uses(func):
        yield Check(
            func,
            VIOLATED,
            "{func} is computed, but once the inlined Funcs are substituted nobody reads it.",
            "Inline it, or compute one of the Funcs that read it ({readers}).",
            values={"func": func, "readers": listed(records.pipeline.consumers(func))},
        )


_AT_ONCE = (
    LoopKind.PARALLEL,
    LoopKind.VECTORIZED,
    LoopKind.GPU_BLOCK,
    LoopKind.GPU_THREAD,
)


@call_rule(
    "race.shared-storage",
    "Nothing is stored outside a loop that runs iterations at once and computed inside it.",
    "Halide refuses it: the iterations would overwrite one another's values [RK13 4.3].",
)
def shared_storage(records: Records, func: str) -> Iterator[Check]:
    """One check for each such loop between storage and computation."""
    site, depth = records.site(func), records.store_depth(func)
    stored = func in records.computed and func not in records.pipeline.outputs
    if not stored or site is None or depth is None:
        return
    for i, place in enumerate(site[depth:], start=depth):
        kind = records.levels.kind(place)
        if kind in _AT_ONCE:
            yield Check(
                func,
                VIOLATED,
                "{func} is stored at {store}, outside the {kind} loop {place}, and computed at "
                "{compute}, inside it: iterations of {place} that run at once would share the "
                "storage.",
                "Store it at {legal}, or compute it outside {place}.",
                loop=place.loop,
                values={
                    "func": func,
                    "store": str(records.entry(func).store),
                    "compute": str(records.entry(func).compute),
                    "kind": str(kind),
                    "place": str(place.level),
                    "legal": _store_levels(records, site[i:]),
                },
            )


def _store_levels(records: Records, path: Path) -> str:
    """The levels of ``path`` with no loop inside them that runs iterations at once."""
    last = max(i for i, place in enumerate(path) if records.levels.kind(place) in _AT_ONCE)
    return " or ".join(str(place.level) for place in path[last:])


def enclosing(records: Records, func: str) -> Path | None:
    """The loops around every use of a Func; None where a use is itself at an illegal level."""
    try:
        return records.levels.enclosing(func)
    except LevelError:
        return None


def _at(level: object) -> str:
    text = str(level)
    return text if text == "inline" else f"at {text}"


RULES = (
    output_at_root,
    inline_update,
    inline_storage,
    compute_level,
    store_level,
    unread,
    shared_storage,
)
