"""The rule about values that a schedule keeps: proofs show that they are there when read."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.directive_text import (
    fold_directive,
    hoist_directive,
    storage_bound_directive,
    store_directive,
)
from spaces.constraints.rules.rule import Check, Undecided, proof_rule, refuse


@proof_rule(
    "storage.kept-values",
    "Storage that outlives an iteration, in which several values share a place, or whose size is "
    "stated or obtained ahead, is illegal unless a proof shows that each value is inside the "
    "memory, is computed before it is read, and is not overwritten before it is read for the last "
    "time, because the schedule would compute something else.",
    "The induction over the iterations of sliding windows [RK13 4.3], decided by intervals and z3.",
)
def kept_values(undecided: Undecided, func: str) -> Iterator[Check]:
    """At most one check."""
    if func in undecided.left:
        entry = undecided.view.nest.schedule.of(func)
        statement, known = undecided.left[func]
        limits = {fold_directive(func, fold): "fold_storage" for fold in entry.folds}
        for bound in entry.storage_bounds:
            limits[storage_bound_directive(func, bound)] = "bound_storage"
        if entry.is_hoisted:
            limits[hoist_directive(entry)] = "hoist_storage"
        left_out = " and ".join(dict.fromkeys(limits.values()))
        yield refuse(
            func,
            "{directive} keeps values of {func}, but this is not shown: {statement} {known}",
            "Store {func} where it is computed{unlimited}.",
            loop=entry.store.loop,
            directive=next(iter(limits), store_directive(entry)),
            statement=statement,
            known=known,
            unlimited=f", and leave out {left_out}" if limits else "",
        )


RULES = (kept_values,)
