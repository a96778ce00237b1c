"""The fastest trials beside the schedules by hand and the reference."""

from __future__ import annotations

import math

from attrs import frozen

from spaces.plots.decisions import BEST
from spaces.tuning.plots.study_record import StudyRecord
from spaces.tuning.sources import REFERENCE, START
from spaces.tuning.trial import Trial

MOST_GIVEN = 3
"""How many schedules by hand are shown, the fastest ones."""


@frozen
class Standing:
    """A measured trial among the fastest ones, by hand, or the reference.

    Attributes:
        number: the trial.
        source: who proposed it.
        milliseconds: the time of a run.
        low: the lower end of the interval of that time.
        high: the upper end; infinite after a single run.
        times_best: the time divided by that of the fastest trial.
        runs: how often it ran.
    """

    number: int
    source: str
    milliseconds: float
    low: float
    high: float
    times_best: float
    runs: int


def study_standings(record: StudyRecord, best: int = BEST) -> tuple[Standing, ...]:
    """The fastest trials, the fastest ones given by hand and the reference; in the order of the
    ranking, whoever proposed them.
    """
    ranked = record.ranked
    fastest = list(ranked[:best])
    given = [one for one in ranked if one.proposal.source == START][:MOST_GIVEN]
    beside = [one for one in ranked if one.proposal.source == REFERENCE][:1]
    shown = {one.number for one in (*fastest, *given, *beside)}
    return tuple(_standing(record, one) for one in ranked if one.number in shown)


def _standing(record: StudyRecord, trial: Trial) -> Standing:
    result = trial.result
    assert result is not None  # ranked trials have times
    unit = (record.reference_seconds or 1.0) * 1e3
    low, high = result.interval
    time = record.milliseconds(trial)
    return Standing(
        trial.number,
        trial.proposal.source,
        time,
        low * unit,
        high * unit if math.isfinite(high) else math.inf,
        time / record.milliseconds(record.ranked[0]),
        len(result.seconds),
    )
