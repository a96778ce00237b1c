"""Decides obligations until the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from spaces.constraints.obligations.decide import Decider
from spaces.constraints.obligations.records import Obligation, Outcome, Proof, Unknown
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import Bool

LISTING = 0.2
"""Seconds after the time limit in which to list the obligations that are left."""

TIME_WAS_UP = Unknown("The time for all proofs was up.")


def proofs_in_time(
    obligations: Iterator[Obligation],
    outcome: Callable[[Obligation], Outcome],
    decider: Decider,
    deadline: Deadline,
) -> Iterator[Proof]:
    """One proof for each obligation, as soon as it is decided. Those that are not decided by
    ``deadline`` are unknown; if there is no time to list them, one obligation stands for the rest.
    """
    listed = 0
    try:
        while True:
            with deadline.later(LISTING).kept():
                obligation = next(obligations, None)
            if obligation is None:
                return
            listed += 1
            start, before = time.perf_counter(), decider.solver_seconds
            try:
                with deadline.kept():
                    found = outcome(obligation)
            except OutOfTime:
                found = TIME_WAS_UP
            seconds = time.perf_counter() - start
            yield Proof(obligation, found, seconds, decider.solver_seconds - before)
    except OutOfTime:
        yield unlisted(listed)


def unlisted(listed: int = 0) -> Proof:
    """The proof, unknown, that stands for all after the first ``listed`` ones."""
    others = f"all obligations but the first {listed}" if listed else "all obligations"
    obligation = Obligation(
        kind="definition",
        func="",
        stage=0,
        statement=f"{others}, which the time did not suffice to list",
        hypotheses=(),
        goal=constant(False, Bool),
        buffer="",
    )
    return Proof(obligation, TIME_WAS_UP, 0.0)
