"""Measured costs: the outcomes and times of compiled schedules."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Protocol, runtime_checkable

from attrs import evolve, frozen

from spaces.cost.student import student_quantile
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import outline

TIME = "time"
"""The name of the time among objectives."""

DISTURBING = 0.1
"""The share of the processors that other programs may take before results are marked."""

MOST_EXPONENT = 700.0
"""The largest exponent whose power of e is a float."""


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
        others: the share of the processors, from 0 to 1, that other programs took meanwhile; 0 if
            the system does not tell.
        metrics: what else was noted of it, by name.
    """

    schedule: Schedule
    outcome: RunOutcome
    reason: str = ""
    seconds: tuple[float, ...] = ()
    reference_seconds: tuple[float, ...] = ()
    compile_seconds: float | None = None
    others: float = 0.0
    metrics: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        if not self.ratios:
            return f"{self.outcome}: {self.reason}" if self.reason else str(self.outcome)
        low, high = self.interval
        return (
            f"{self.median_seconds * 1e3:.3g} ms, {self.ratio:.2f} ({low:.2f} to {high:.2f}) of "
            f"the reference{', disturbed' if self.is_disturbed else ''}"
        )

    def __repr__(self) -> str:
        return outline(self)

    @property
    def is_correct(self) -> bool:
        """Whether it ran with the right results."""
        return self.outcome is RunOutcome.CORRECT

    def metric(self, name: str) -> float | None:
        """The metric with this name; None if it was not noted."""
        return dict(self.metrics).get(name)

    def with_runs_of(self, later: Measurement) -> Measurement:
        """This measurement with further runs of the same schedule."""
        return evolve(
            self,
            seconds=self.seconds + later.seconds,
            reference_seconds=self.reference_seconds + later.reference_seconds,
            others=max(self.others, later.others),
        )

    @property
    def is_disturbed(self) -> bool:
        """Whether the machine was busy with something else: other programs took more than
        :data:`DISTURBING` of it, or the times of the reference spread by more.
        """
        return self.others > DISTURBING or self.reference_spread > DISTURBING

    @property
    def reference_spread(self) -> float:
        """How far times of the reference lie from their median, as a part of it: the median of
        their distances. 0 for fewer than three.
        """
        if len(self.reference_seconds) < 3:
            return 0.0
        middle = statistics.median(self.reference_seconds)
        return statistics.median(abs(one - middle) for one in self.reference_seconds) / middle

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
        """Where the true median of :attr:`ratios` lies with 95 % confidence; from 0 to infinity for
        a single run.
        """
        return interval_of_median(self.ratios) if self.ratios else (math.inf, math.inf)

    @property
    def median_seconds(self) -> float:
        """The median time of a run, infinite without times."""
        return statistics.median(self.seconds) if self.seconds else math.inf


def interval_of_median(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """An interval that contains the median of the distribution of some times, or of their ratios,
    with this confidence.

    For six values or more with 95 % it is the narrowest one between two of the values, whatever the
    distribution is (the sign test). Fewer values say too little for that. For them it is the
    interval of Student's t for their logarithms, which takes the distribution to be log-normal. One
    value says nothing: from 0 to infinity.
    """
    ordered = sorted(values)
    count = len(ordered)
    if count < 2:
        return 0.0, math.inf
    missed = (1 - confidence) / 2
    if 0.5**count > missed:
        logs = [math.log(one) for one in ordered]
        reach = student_quantile(1 - missed, count - 1) * statistics.stdev(logs) / math.sqrt(count)
        middle = statistics.fmean(logs)
        return math.exp(middle - reach), math.exp(min(middle + reach, MOST_EXPONENT))
    outside, below = 0, 0.0  # how many values are left out at each end, and the chance of that
    while True:
        below += math.comb(count, outside) / 2**count
        if below > missed:
            return ordered[outside - 1], ordered[count - outside]
        outside += 1


@runtime_checkable
class GradualMeasurer(Protocol):
    """A :class:`Measurer` that tells each result when it knows it, so that a study keeps it even if
    the process ends in the next moment.
    """

    def measure_gradually(
        self, pipeline: Pipeline, schedules: Sequence[Schedule]
    ) -> Iterator[tuple[int, Measurement]]:
        """The place of a schedule with its measurement, whenever more is known. The last one of
        each place counts.
        """
        ...


@runtime_checkable
class Measurer(Protocol):
    """Compiles schedules, runs them and measures their times."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> Sequence[Measurement]:
        """One measurement for each schedule, in their order.

        If one schedule fails, the others are still measured.
        """
        ...
