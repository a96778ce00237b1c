"""Rules about memoized Funcs."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, call_rule, own_rule, refuse
from spaces.model.schedules.domain_order import LoopKind


@call_rule(
    "memoize.place",
    "A memoized Func is illegal if it is an output, inlined, stored outside of where it is "
    "computed, computed with another Func, or computed in vector lanes, because the storage of one "
    "visit is kept as a whole.",
    "Halide's memoize refuses the first three.",
)
def place(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    reason, advice = _misplaced(records, func) if records.entry(func).memoized else ("", "")
    if reason:
        yield refuse(
            func,
            "{directive} keeps the values of {func}, but {reason}.",
            advice,
            directive=f"{func}.memoize()",
            reason=reason,
        )


def _misplaced(records: Records, func: str) -> tuple[str, str]:
    """Why a Func has no storage of one visit, and what to do; two empty texts if it has."""
    entry, path = records.entry(func), records.compute_path(func)
    if func in records.pipeline.outputs:
        return "it is an output: its storage belongs to the caller", "Memoize a Func that it reads."
    if func not in records.computed or path is None:
        return "it is inlined: it has no storage", "Compute it at root, or at a loop of a reader."
    if entry.store != entry.compute:
        return (
            f"its storage at {entry.store} serves several visits of {entry.compute}",
            "Store it where it is computed.",
        )
    others = [name for group in records.groups if func in group for name in group if name != func]
    if others:
        return f"its loops are fused with those of {listed(others)}", "Leave compute_with out."
    if LoopKind.VECTORIZED in records.kinds(path):
        return "it is computed in vector lanes", "Compute it outside of the vectorized loop."
    return "", ""


@own_rule(
    "memoize.image",
    "A memoized Func whose values depend on an image is illegal, because the pixels may differ "
    "from call to call.",
    "Halide's memoize refuses it, too.",
)
def image(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    if records.entry(func).memoized and func not in records.pipeline.outputs:
        sources = records.pipeline.producers[func]
        images = [one.name for one in records.pipeline.images if one.name in sources]
        if images:
            yield refuse(
                func,
                "{directive} keeps the values of {func}, but they depend on {images}.",
                "Memoize a Func that depends on Params and sizes alone.",
                directive=f"{func}.memoize()",
                images=listed(images),
            )


@own_rule(
    "memoize.device",
    "A memoized Func in a schedule for a GPU is illegal, because values are kept in the memory of "
    "the CPU.",
    "This library keeps values of CPU code only.",
)
def device(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    if records.entry(func).memoized and records.gpu is not None:
        yield refuse(
            func,
            "{directive} keeps the values of {func}, but {device} is a GPU.",
            "Leave it out.",
            directive=f"{func}.memoize()",
            device=records.gpu.name,
        )


RULES = (place, image, device)
