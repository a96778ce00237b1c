"""Trials: schedules that a study proposes, with their results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from spaces.cost.measurer import Measurement
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import outline


@frozen(repr=False)
class Proposal:
    """A schedule to measure.

    Attributes:
        schedule: a legal schedule.
        source: where it comes from, such as ``search`` or ``change``.
        predicted: its cost by the model; None if it was not priced.
    """

    schedule: Schedule
    source: str
    predicted: float | None = None

    def __str__(self) -> str:
        return f"from {self.source}\n{self.schedule}"

    def __repr__(self) -> str:
        return outline(self)


@frozen(repr=False)
class Trial:
    """A proposal of a study.

    Attributes:
        number: its place in the study, from 0.
        proposal: the schedule, and where it comes from.
        result: its measurement; None as long as it is open.
        attempts: how often somebody began to measure it without coming to a result.
    """

    number: int
    proposal: Proposal
    result: Measurement | None = None
    attempts: int = 0

    def __str__(self) -> str:
        return f"trial {self.number}: {self.result or 'open'}, {self.proposal}"

    def __repr__(self) -> str:
        return outline(self)

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return self.proposal.schedule

    @property
    def ratio(self) -> float:
        """The median time divided by that of the reference in the same round; infinite if it is
        open or failed.
        """
        return math.inf if self.result is None else self.result.ratio


@runtime_checkable
class RankedTrials(Protocol):
    """Trials that are kept in the order of :func:`fastest`, too."""

    @property
    def ranked(self) -> Sequence[Trial]:
        """The trials with times, the fastest first."""
        ...


def fastest(trials: Iterable[Trial] | RankedTrials) -> Sequence[Trial]:
    """The trials with times, by the upper end of the interval of their ratio: so a few lucky runs
    do not win. Of equal ones, the one with the lower ratio, then the first.
    """
    if isinstance(trials, RankedTrials):
        return trials.ranked
    ranks = ((rank_of(one), one) for one in trials)
    found = [(rank, one) for rank, one in ranks if rank is not None]
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def rank_of(trial: Trial) -> tuple[float, float, int] | None:
    """What trials are ranked by, the lowest first; None for a trial without times. A store keeps
    the first two (:func:`~spaces.tuning.schema.summarise`).
    """
    result = trial.result
    if result is None or not result.seconds:
        return None
    return result.interval[1], result.ratio, trial.number


FINALISTS = 4
"""How many trials are measured again at most."""

NEAR = 64
"""Finalists are chosen among this many of the fastest trials."""


def finalists(trials: Iterable[Trial] | RankedTrials, count: int = FINALISTS) -> list[Trial]:
    """The trials that may be the fastest one, by their intervals: at most that many, the fastest
    first. It is a list of one if no other one may be the fastest.
    """
    ranked = fastest(trials)[:NEAR]
    if not ranked or ranked[0].result is None:
        return []
    most = ranked[0].result.interval[1]
    near = [one for one in ranked[1:] if one.result and one.result.interval[0] < most]
    near.sort(key=lambda one: (one.ratio, one.number))
    return [ranked[0], *near[: count - 1]]
