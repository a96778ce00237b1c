"""Rules about ring buffers."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.directive_text import setting_directive
from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, Quantity, call_rule, check, own_rule, refuse
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import Bool, Int32


@own_rule(
    "ring.extent",
    "A ring buffer for fewer than 1 or more than 2147483647 iterations is illegal, because it "
    "would have no place, or more than an int32 counts.",
    "Halide takes any int32; with 0 or less its code divides by zero or allocates nothing.",
    slots=Quantity("iterations whose values the ring buffer holds", "iterations"),
)
def extent(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    slots = records.entry(func).ring
    if slots is not None:
        yield check(
            func,
            constant(1 <= slots <= Int32.max_value, Bool),
            "{directive} keeps the values of {slots} iterations of {func}.",
            "It is at least 1 and at most 2147483647.",
            directive=setting_directive(records.entry(func), "ring"),
            slots=slots,
        )


@call_rule(
    "ring.hoisted",
    "A ring buffer is illegal if its memory is not obtained outside of the loop at which the Func "
    "is stored, because each iteration would have a ring buffer of its own.",
    "Halide's ring_buffer asks for hoist_storage at another level than the store level.",
)
def hoisted(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    if entry.ring is None or entry.is_hoisted or not _is_stored(records, func):
        return
    yield refuse(
        func,
        "{directive} keeps the values of several iterations of {func}, but the memory of {func} is "
        "obtained where {func} is stored: at {level}.",
        "Add hoist_storage(...) of a loop around {level}, or hoist_storage_root(); or leave the "
        "ring buffer out."
        if not entry.store.is_root
        else "Store it at a loop and add hoist_storage_root(), or leave the ring buffer out.",
        directive=setting_directive(entry, "ring"),
        level=str(entry.store),
    )


@call_rule(
    "ring.whole",
    "A ring buffer of a Func that is memoized, or that foreign code computes or reads, is illegal, "
    "because its array is copied or passed as a whole.",
    "This library's limit.",
)
def whole(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    if entry.ring is None or not _is_stored(records, func):
        return
    users = (func, *records.pipeline.consumers(func))
    foreign = [name for name in users if records.function(name).is_opaque]
    if not foreign and not entry.memoized:
        return
    yield refuse(
        func,
        "{directive} keeps the values of several iterations of {func}, but {reason}.",
        "Leave the ring buffer out.",
        directive=setting_directive(entry, "ring"),
        reason=f"foreign code computes {listed(foreign)}" if foreign else f"{func} is memoized",
    )


def _is_stored(records: Records, func: str) -> bool:
    """Whether the pipeline has storage for a Func; otherwise a ring buffer has no effect."""
    return func in records.computed and func not in records.pipeline.outputs


RULES = (extent, hoisted, whole)
