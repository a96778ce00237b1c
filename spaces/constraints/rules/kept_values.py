"""The rule that values which a schedule keeps are shown to be there when they are read."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.rule import VIOLATED, Check, Undecided, proof_rule
from spaces.constraints.rules.written import fold_directive, store_directive


@proof_rule(
    "storage.kept-values",
    "Storage that outlives an iteration, or in which several values share a place, is illegal "
    "unless a proof shows that each value is computed before it is read and not overwritten before "
    "it is read for the last time, because the schedule would compute something else.",
    "The induction over the iterations of sliding windows [RK13 4.3], decided by intervals and z3.",
)
def kept_values(undecided: Undecided, func: str) -> Iterator[Check]:
    """At most one check."""
    if func in undecided.left:
        entry = undecided.view.nest.schedule.of(func)
        statement, known = undecided.left[func]
        folds = [fold_directive(func, fold) for fold in entry.folds]
        yield Check(
            func,
            VIOLATED,
            "{directive} keeps values of {func}, but this is not shown: {statement} {known}",
            "Store {func} where it is computed{unfolded}.",
            loop=entry.store.loop,
            values={
                "directive": folds[0] if folds else store_directive(entry),
                "func": func,
                "statement": statement,
                "known": known,
                "unfolded": ", and leave out fold_storage" if folds else "",
            },
        )


RULES = (kept_values,)
