"""What the cost model predicted beside what was measured, and where it was wrong."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from attrs import frozen

from spaces.plots.decisions import Decided, DecisionTable, ScheduleDecision
from spaces.tuning.plots.decisions import study_decisions
from spaces.tuning.plots.study_record import StudyRecord

MOST_ODD = 5
"""How many odd trials are named."""

_LEAST_ODD = 1.25
"""A trial that is wrong by less than this factor is not odd."""

_SPREADS = 3.0
"""An odd trial is wrong by more than this many times the usual error."""

_REASONS = 2
"""How many decisions of an odd trial are named."""

_RARE = 0.2
"""A decision is rare if fewer of the trials share it."""


@frozen
class Prediction:
    """A trial with a price and a time.

    Attributes:
        number: the trial.
        source: who proposed it.
        predicted: its cost by the model, in the unit of the model.
        milliseconds: the measured time of a run.
        error: how many times as long it takes as its price says, where the median trial takes as
            long as it says.
    """

    number: int
    source: str
    predicted: float
    milliseconds: float
    error: float


@frozen
class OddPrediction:
    """A trial that takes much longer or shorter than its price says.

    Attributes:
        prediction: the trial.
        rare: its decisions that few other trials share, the rarest first, each with the share of
            all trials that have it.
    """

    prediction: Prediction
    rare: tuple[tuple[ScheduleDecision, Decided, float], ...]


@frozen
class Predictions:
    """The predictions of a study.

    Attributes:
        points: the trials that have a price and a time, the fastest first.
        scale: the milliseconds that a unit of cost stands for, by the median trial.
        ranks: Spearman's rank correlation of prices and times; None for fewer than three trials, or
            if all are equal.
        usual: the factor by which the median trial is wrong, at least 1.
        odd: the trials that are wrong by much more, the worst first.
        unpriced: how many measured trials have no price.
    """

    points: tuple[Prediction, ...]
    scale: float
    ranks: float | None
    usual: float
    odd: tuple[OddPrediction, ...]
    unpriced: int


def study_predictions(record: StudyRecord, table: DecisionTable | None = None) -> Predictions:
    """Predicted against measured, for all measured trials of a study.

    Args:
        record: the study.
        table: the decisions of its trials, if they are known already.
    """
    priced = [
        (trial, trial.proposal.predicted, record.milliseconds(trial))
        for trial in record.ranked
        if _is_price(trial.proposal.predicted)
    ]
    pairs = [(cost, time) for _, cost, time in priced if cost is not None]
    scale = statistics.median([time / cost for cost, time in pairs]) if pairs else 1.0
    points = tuple(
        Prediction(trial.number, trial.proposal.source, cost, time, time / (cost * scale))
        for trial, cost, time in priced
        if cost is not None
    )
    usual = math.exp(statistics.median([abs(math.log(one.error)) for one in points] or [0.0]))
    limit = max(math.log(_LEAST_ODD), _SPREADS * math.log(usual))
    odd = sorted(
        (one for one in points if abs(math.log(one.error)) > limit),
        key=lambda one: -abs(math.log(one.error)),
    )
    named = odd[:MOST_ODD]
    places = {trial.number: place for place, trial in enumerate(record.ranked)}
    if named and table is None:
        table = study_decisions(record)
    return Predictions(
        points,
        scale,
        rank_correlation([one.predicted for one in points], [one.milliseconds for one in points]),
        usual,
        tuple(
            OddPrediction(one, _rare(places[one.number], table))
            for one in named
            if table is not None
        ),
        len(record.ranked) - len(points),
    )


def _is_price(cost: float | None) -> bool:
    return cost is not None and 0 < cost < math.inf


def _rare(row: int, table: DecisionTable) -> tuple[tuple[ScheduleDecision, Decided, float], ...]:
    """The decisions of a row of the table that few other rows share; nothing if the trial has no
    row.
    """
    count = len(table.rows)
    if row >= count:
        return ()
    found = [
        (column.decision, column.values[row], column.values.count(column.values[row]) / count)
        for column in table.columns
    ]
    rare = sorted((one for one in found if one[2] < _RARE), key=lambda one: one[2])
    return tuple(rare[:_REASONS])


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer than three pairs, or if all values of one side
    are equal.
    """
    if len(first) < 3 or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    return statistics.correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
    """The place of each value among all; equal values have the mean of their places."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [statistics.fmean(places[value]) for value in values]
