"""Measured costs: the outcomes and times of compiled schedules."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import Protocol, runtime_checkable

from attrs import frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import outline


class RunOutcome(StrEnum):
    """The outcome of measuring a schedule."""

    CORRECT = "correct"
    """It ran, and its results are those of the trusted schedule."""
    ILLEGAL = "illegal"
    """It breaks a rule of the device."""
    NOT_COMPILED = "not compiled"
    """The compiler failed, or took too long or too much memory."""
    REFUSED = "refused"
    """It does not fit the sizes or the arguments of the run."""
    CRASHED = "crashed"
    """The process that ran it ended, for instance by a signal."""
    HUNG = "hung"
    """A run took too long."""
    OUT_OF_MEMORY = "out of memory"
    """There was not enough memory to run it."""
    WRONG = "wrong"
    """Its results differ from those of the trusted schedule."""


@frozen(repr=False)
class Measurement:
    """The outcome of one schedule.

    Each run has a run of the reference beside it. So a moment in which the machine is slow counts
    for both.

    Attributes:
        schedule: the schedule.
        outcome: whether it ran, or why not.
        reason: why it has no times, as a sentence; empty if it is correct.
        seconds: the time of each run, in order; fewer than of others if it was too slow to go on.
        reference_seconds: for each of these runs the time of the reference in the same round.
        compile_seconds: the time to verify and compile it; None if that failed.
    """

    schedule: Schedule
    outcome: RunOutcome
    reason: str = ""
    seconds: tuple[float, ...] = ()
    reference_seconds: tuple[float, ...] = ()
    compile_seconds: float | None = None

    def __str__(self) -> str:
        if not self.ratios:
            return f"{self.outcome}: {self.reason}" if self.reason else str(self.outcome)
        low, high = self.interval
        return (
            f"{self.median_seconds * 1e3:.3g} ms, {self.ratio:.2f} ({low:.2f} to {high:.2f}) of "
            "the reference"
        )

    def __repr__(self) -> str:
        return outline(self)

    @property
    def is_correct(self) -> bool:
        """Whether it ran with the right results."""
        return self.outcome is RunOutcome.CORRECT

    @cached_property
    def ratios(self) -> tuple[float, ...]:
        """Its time divided by that of the reference, round by round."""
        return tuple(
            mine / theirs for mine, theirs in zip(self.seconds, self.reference_seconds, strict=True)
        )

    @property
    def ratio(self) -> float:
        """The median of :attr:`ratios`, infinite without times: below 1 it beats the reference."""
        return statistics.median(self.ratios) if self.ratios else math.inf

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true median of :attr:`ratios` lies with 95 % confidence."""
        return interval_of_median(self.ratios) if self.ratios else (math.inf, math.inf)

    @property
    def median_seconds(self) -> float:
        """The median time of a run, infinite without times."""
        return statistics.median(self.seconds) if self.seconds else math.inf


def interval_of_median(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The narrowest interval between two of the values that contains the median of their
    distribution with this confidence, whatever the distribution is. For fewer than six values it is
    the range of all, with less confidence.
    """
    ordered = sorted(values)
    count = len(ordered)
    outside, below = 0, 0.0  # how many values are left out at each end, and the chance of that
    while True:
        below += math.comb(count, outside) / 2**count
        if below > (1 - confidence) / 2 or 2 * (outside + 1) >= count:
            return ordered[max(outside - 1, 0)], ordered[min(count - outside, count - 1)]
        outside += 1


@runtime_checkable
class Measurer(Protocol):
    """Compiles schedules, runs them and measures their times."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> Sequence[Measurement]:
        """One measurement for each schedule, in their order.

        If one schedule fails, the others are still measured.
        """
        ...
