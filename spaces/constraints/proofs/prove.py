"""Decides all obligations of a loop nest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property

from attrs import define, field

from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.constraints.obligations.assumptions import assumptions
from spaces.constraints.obligations.bounds import bounds
from spaces.constraints.obligations.decide import TIMEOUT_MS, Decider
from spaces.constraints.obligations.folding import folding
from spaces.constraints.obligations.records import (
    Counterexample,
    Obligation,
    Outcome,
    Proof,
    ProofReport,
    Refuted,
    Unknown,
)
from spaces.constraints.obligations.sites import Subject
from spaces.constraints.obligations.sliding import sliding
from spaces.constraints.proofs.coverage import coverage
from spaces.constraints.proofs.definition import definition
from spaces.constraints.proofs.in_time import proofs_in_time
from spaces.constraints.proofs.order import order
from spaces.constraints.proofs.races import races
from spaces.constraints.proofs.trace import NotFollowedError, TraceFault, trace
from spaces.model.amounts import named_numbers
from spaces.model.articles import shown_kind
from spaces.model.deadline import Deadline
from spaces.model.expressions.numbers import seconds_given
from spaces.model.nest.loopnest import LoopNest
from spaces.model.recursion import in_one_chunk

SECONDS = 60.0
"""The time limit for all proofs about one nest."""

KINDS: tuple[Callable[[Subject], Iterator[Obligation]], ...] = (
    definition,
    bounds,
    coverage,
    sliding,
    folding,
    order,
    races,
)


def obligations(proposed: LoopNest | CheckedSchedule) -> tuple[Obligation, ...]:
    """The conditions that a loop nest must meet for every size, kind by kind.

    The nest need not be verified. For a verified nest, sizes are those that the rules allow. For
    one that is not verified, outputs are at least as large as the tiles that shift into them, and
    buffers hold all values that bounds inference says are computed or read. Specializations are
    nests of their own, in turn.
    """
    if isinstance(proposed, CheckedSchedule) and proposed.cases:
        return tuple(o for case in proposed.cases for o in obligations(case))
    subject = _subject(proposed)
    return tuple(o for kind in KINDS for o in kind(subject))


@in_one_chunk
def prove(
    proposed: LoopNest | CheckedSchedule, *, timeout_ms: int = TIMEOUT_MS, seconds: float = SECONDS
) -> ProofReport:
    """Proves or refutes every obligation of a loop nest.

    Args:
        proposed: a loop nest, legal or not, or a verdict of ``verify``.
        timeout_ms: the time limit of the solver for one obligation.
        seconds: the time limit for all; the remaining ones are then ``unknown``. If the time does
            not even suffice to list them, one unknown obligation stands for all that are missing.

    Raises:
        ValueError: the verdict is illegal, or ``seconds`` is not a time.
    """
    start = time.perf_counter()
    deadline = Deadline.after(seconds_given("prove(seconds)", seconds))
    found = tuple(proofs(proposed, timeout_ms=timeout_ms, deadline=deadline))
    return ProofReport(found, time.perf_counter() - start)


def proofs(
    proposed: LoopNest | CheckedSchedule, *, deadline: Deadline, timeout_ms: int = TIMEOUT_MS
) -> Iterator[Proof]:
    """The proofs of :func:`prove`, one by one."""
    if isinstance(proposed, CheckedSchedule) and proposed.cases:
        for case in proposed.cases:
            yield from proofs(case, timeout_ms=timeout_ms, deadline=deadline)
        return
    decider = Decider(timeout_ms)
    session = _Session(proposed, decider)
    yield from proofs_in_time(session.obligations(), session.outcome, decider, deadline)


def _subject(proposed: LoopNest | CheckedSchedule) -> Subject:
    if isinstance(proposed, Illegal):
        raise ValueError(
            "The schedule is not legal; give its loop nest, prove(loop_nest(pipeline, schedule)), "
            f"to see which of its accesses are wrong.\n{proposed}"
        )
    if not isinstance(proposed, LoopNest | CheckedSchedule):
        raise TypeError(
            f"prove takes what verify returns, or a loop nest, not {shown_kind(proposed)}; "
            f"loop_nest(pipeline, schedule) makes one."
        )
    if isinstance(proposed, LoopNest):
        return Subject(proposed, assumptions(proposed, None))
    judged = tuple((one.rule, one.condition) for one in proposed.size_conditions)
    return Subject(proposed.nest, assumptions(proposed.nest, judged))


@define(slots=False)
class _Session:
    """Makes and decides the obligations about one nest."""

    proposed: LoopNest | CheckedSchedule
    decider: Decider
    _traces: dict[tuple[tuple[str, int], ...], dict[str, TraceFault] | str] = field(factory=dict)

    @cached_property
    def _subject(self) -> Subject:
        return _subject(self.proposed)

    @cached_property
    def _excludes_everything(self) -> bool:
        return self.decider.excludes_everything(self._subject.known.all)

    def obligations(self) -> Iterator[Obligation]:
        """The obligations, kind by kind."""
        _ = self._excludes_everything  # once, outside the times of the proofs
        yield from (o for kind in KINDS for o in kind(self._subject))

    def outcome(self, obligation: Obligation) -> Outcome:
        """The decision about one obligation."""
        if self._excludes_everything:
            return Unknown("No sizes satisfy all that the schedule requires of them.")
        outcome = self.decider.decide(obligation, self._subject.known.all)
        if isinstance(outcome, Refuted) and not obligation.exact:
            return self._confirmed(outcome)
        return outcome

    def _confirmed(self, suspected: Refuted) -> Outcome:
        """The refutation of a condition that is only sufficient, confirmed by a fault when the nest
        runs.
        """
        sizes, buffer = suspected.counterexample.sizes, suspected.counterexample.buffer
        faults = self._faults(sizes)
        if isinstance(faults, str):
            return Unknown(f"A sufficient condition fails. {faults}", buffer)
        if buffer not in faults:
            text = named_numbers(sizes)
            return Unknown(
                f"A sufficient condition fails for {text}, where the nest itself shows no fault.",
                buffer,
            )
        fault = faults[buffer]
        return Refuted(Counterexample(sizes, fault.iteration, {}, buffer, fault.coordinate))

    def _faults(self, sizes: dict[str, int]) -> dict[str, TraceFault] | str:
        key = tuple(sorted(sizes.items()))
        if key not in self._traces:
            try:
                self._traces[key] = trace(self._subject, sizes)
            except NotFollowedError as error:
                self._traces[key] = str(error)
        return self._traces[key]
