"""The rule about what an asynchronous Func may read."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.directive_text import level_directive, setting_directive
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, call_rule, refuse
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel


@call_rule(
    "async.producers",
    "A Func that an asynchronous Func reads is illegal if its compute level lies inside the store "
    "level of its reader (the level to which its memory is hoisted, if that is a ring buffer) and "
    "around the loops of its reader, unless it is asynchronous, too, and stored at or outside that "
    "level, because the thread that computes the reader does not "
    "wait for it.",
    "Halide refuses it.",
)
def producers(records: Records, func: str) -> Iterator[Check]:
    """One check for each asynchronous Func that reads this one too early."""
    entry, path, depth = records.entry(func), records.compute_path(func), records.store_depth(func)
    if func not in records.computed or path is None or depth is None:
        return
    for reader in _asynchronous(records, func):
        begins = _begins(records.entry(reader))
        around, begin = records.compute_path(reader), records.depth(reader, begins)
        if around is None or begin is None:
            continue
        is_between = begin < len(path) and path == around[: len(path)]
        if is_between and not (entry.asynchronous and depth <= begin):
            yield refuse(
                func,
                "{compute} lies inside the store level {store} of {reader}, which reads {func}; by "
                "{directive} another thread computes {reader}, which does not wait for {func}.",
                "Compute {func} in a loop of {reader}, or at {store}; or make it asynchronous, "
                "too, and store it at {store}.",
                directive=setting_directive(records.entry(reader), "asynchronous"),
                reader=reader,
                compute=level_directive(func, "compute", entry.compute),
                store=str(begins),
            )


def _begins(entry: FuncSchedule) -> LoopLevel:
    """Where the thread begins that computes an asynchronous Func: where it is stored, or where its
    memory is obtained if that is a ring, which lasts for several iterations.
    """
    return entry.hoist if entry.ring is not None and entry.is_hoisted else entry.store


def _asynchronous(records: Records, func: str) -> Iterator[str]:
    """The asynchronous Funcs that read a Func, or in whose loops others read it."""
    found: dict[str, None] = {}
    for user, stage in records.levels.uses(func):
        inside = (loop.func for loop in records.path(user, stage) or ())
        found |= dict.fromkeys((user, *inside))
    for name in found:
        if records.entry(name).asynchronous and name not in records.pipeline.outputs:
            yield name


RULES = (producers,)
