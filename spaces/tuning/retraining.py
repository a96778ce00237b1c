"""Cost models that learn from the trials of a study."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.cost.training import PricedRun, TrainableModel
from spaces.enumerate.search.feature_memos import feature_memo
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.tuning.trial import Trial

LEAST = 8
"""The fewest schedules of a pipeline with times from which a model learns."""


def retrain(model: CostModel, space: ScheduleSpace, trials: Sequence[Trial]) -> CostModel:
    """The model after it has learned from all trials with times. If it cannot learn
    (:class:`TrainableModel`), or if fewer than :data:`LEAST` trials have times, the same model.
    """
    if not isinstance(model, TrainableModel):
        return model
    runs = list(_runs(space, trials))
    return model.retrain(runs) if len(runs) >= LEAST else model


def _runs(space: ScheduleSpace, trials: Sequence[Trial]) -> Iterator[PricedRun]:
    """The trials with times. Each time is relative to the reference in the same round, so a slow
    moment of the machine changes nothing.
    """
    pipeline = space.pipeline
    for trial in trials:
        result = trial.result
        if result is not None and result.is_correct and result.seconds:
            seconds = result.ratio * statistics.median(result.reference_seconds)
            batch = Batch.of(pipeline, trial.schedule, memo=feature_memo(space.nests))
            yield PricedRun(pipeline.name, batch, seconds)
