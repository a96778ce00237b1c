"""Do the tests notice a planted bug?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import evolve, frozen

from tests.mutants.mutant import Mutant
from tests.mutants.workshop import Run, Workshop

Fate = Literal["killed", "survived", "out of time"]

LIKELY_SECONDS, SUITE_SECONDS = 300.0, 1500.0
"""Time for the tests that are likely to notice a bug, and for the whole suite."""

SANITY = Mutant(
    name="sanity",
    where="Interval",
    old="@frozen\nclass Interval: ...",
    new='raise ImportError("planted")',
    why="Nothing can be imported; where tests pass all the same, they are not those of the copy.",
    tests=("test_regions.py",),
)


@frozen
class Trial:
    """What became of one mutant.

    Attributes:
        fate: whether a test noticed it.
        by: the test that did, or ran when the time was up.
        how: ``failed``, or how the process ended.
        seconds: how long it took.
        key: a digest of the change, of the code it changes and of the likely tests.
        asked: whether the likely tests were asked only, or the whole suite.
    """

    mutant: Mutant
    fate: Fate
    by: str
    how: str
    seconds: float
    key: str
    asked: Literal["likely tests", "whole suite"]

    @property
    def is_explained(self) -> bool:
        """Whether its fate is as its mutant says: only equivalent ones may survive."""
        return (self.fate == "killed") is not bool(self.mutant.equivalent)


def attempt(workshop: Workshop, mutant: Mutant, whole_suite: bool) -> Trial:
    """Plant a bug and run the tests likely to notice it; then all tests, if wanted."""
    first = workshop.with_bug(mutant, workshop.likely(mutant), LIKELY_SECONDS)
    key = mutant.key(workshop.root)
    trial = Trial(
        mutant, _fate(mutant, first), first.test, first.end, first.seconds, key, "likely tests"
    )
    if trial.fate != "survived" or not whole_suite:
        return trial
    # That each mutant applies is not asked: it says nothing about what the program computes.
    rest = workshop.with_bug(mutant, ("tests", "--ignore=tests/mutants"), SUITE_SECONDS)
    return evolve(
        trial,
        fate=_fate(mutant, rest),
        by=rest.test,
        how=rest.end,
        seconds=first.seconds + rest.seconds,
        asked="whole suite",
    )


def _fate(mutant: Mutant, run: Run) -> Fate:
    if run.end == "passed":
        return "survived"
    if run.end == "out of time" and not mutant.hangs:
        return "out of time"
    return "killed"


def overlooked(workshop: Workshop) -> str:
    """Why trials in this workshop would mean nothing; empty if they mean something."""
    planted = workshop.with_bug(SANITY, workshop.likely(SANITY), LIKELY_SECONDS)
    if planted.end == "failed" and "ImportError: planted" in planted.output:
        return ""
    return f"A bug that nobody can overlook was overlooked:\n{planted.output[-2000:]}"


def without_false_alarms(
    workshop: Workshop, trials: Sequence[Trial]
) -> tuple[list[Trial], list[str]]:
    """The trials without those killed by tests that fail without any bug, too; and these tests."""
    left, problems = list(trials), []
    while killers := sorted({_killer(trial.by) for trial in left if trial.fate == "killed"}):
        clean = workshop.run(tuple(killers), SUITE_SECONDS)
        if clean.end == "passed":
            break
        problems.append(
            f"{clean.test} fails without any planted bug ({clean.end}):\n{clean.output[-2000:]}"
        )
        alarm = _killer(clean.test)
        # If nobody knows which test it was, each is under suspicion.
        suspects = {alarm} if alarm in killers else set(killers)
        left = [t for t in left if t.fate != "killed" or _killer(t.by) not in suspects]
    return left, problems


def _killer(test: str) -> str:
    """A test without the example that it ran with."""
    return test.partition("[")[0]
