"""Decides of a judged nest whether the values that it keeps are there when they are read, and
whether memory of a stated size holds them.

A loop nest slides a window and folds storage only where that is right by construction, and limits
the sizes of storage by largest values. Here the same is shown once more, from what is required and
computed alone, so that a mistake there refuses a schedule instead of computing other values.
"""

from __future__ import annotations

import threading

from attrs import frozen

from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.obligations.assumptions import assumptions
from spaces.constraints.obligations.bounds import bounds
from spaces.constraints.obligations.decide import Decider
from spaces.constraints.obligations.folding import folding
from spaces.constraints.obligations.records import Obligation, Outcome, Proven, Refuted
from spaces.constraints.obligations.sites import Subject
from spaces.constraints.obligations.sliding import sliding
from spaces.constraints.reasoning.solvers import BY_STEPS
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.rule import Undecided
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.smt import NO_TIMEOUT
from spaces.model.memo import Memo
from spaces.model.nest.sliding import Storage
from spaces.model.schedules.schedule import Schedule


def may_keep(schedule: Schedule) -> bool:
    """Whether a schedule may need proofs about values that it keeps: a Func is stored outside the
    loop in which it is computed, or its storage has a stated size.
    """
    return any(
        entry.store != entry.compute or entry.folds or entry.storage_bounds or entry.is_hoisted
        for entry in schedule.funcs
    )


def undecided(checked: CheckedSchedule) -> Undecided | None:
    """What proofs leave undecided of the windows, folds and stated sizes of a nest that satisfies
    all other rules. None if the nest has no such thing.
    """
    keeps = any(_keeps(p.storage) for p in checked.bounds.placements.values())
    stated = {e.name for e in checked.schedule.funcs if e.storage_bounds or e.is_hoisted}
    if not keeps and not stated:
        return None
    judged = tuple((one.rule, one.condition) for one in checked.size_conditions)
    subject = Subject(checked.nest, assumptions(checked.nest, judged))
    decider = _Remembering(Decider(NO_TIMEOUT, attempts=BY_STEPS))
    left: dict[str, tuple[str, str]] = {}
    asked = [*sliding(subject), *folding(subject)] if keeps else []
    if stated:
        asked += (one for one in bounds(subject) if one.buffer in stated)
    for obligation in (one for one in asked if one.buffer not in left):
        outcome = decider.decide(obligation, subject.known.all)
        if not isinstance(outcome, Proven):
            left[obligation.buffer] = obligation.statement, _known(outcome)
    return Undecided(NestView.of(checked.bounds, checked.device), left)


@frozen
class _Remembering:
    """Decides obligations, within limits of steps and not of time. So equal obligations have equal
    outcomes, and those that occurred before are not asked again.
    """

    decider: Decider

    def decide(self, obligation: Obligation, further: tuple[Expr, ...]) -> Outcome:
        key = obligation, further
        with _guard:
            known = _outcomes.find(key)
        if known is None:
            outcome = self.decider.decide(obligation, further)
            with _guard:
                known = _outcomes.keep(key, outcome)
        return known.value


_guard = threading.Lock()
_outcomes: Memo[Outcome] = Memo(4096)
"""The last outcomes; most schedules of a pipeline have windows that others have, too."""


def _keeps(storage: Storage) -> bool:
    """Whether a Func keeps values from visit to visit, or stores several in one place."""
    return bool(storage.slides) or any(fold is not None for fold in storage.folds)


def _known(outcome: Outcome) -> str:
    """What is known instead, as a sentence."""
    if isinstance(outcome, Refuted):
        return f"It may fail for {outcome.counterexample}."
    return "No proof of it is found for all sizes."
