"""Cost models that learn from measured times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel


@frozen
class PricedRun:
    """One measured schedule.

    Attributes:
        kernel: the name of the pipeline.
        batch: the schedule with its features.
        seconds: its time. Only the proportions of the times of a pipeline count.
        weight: how much its error counts, beside those of other runs.
    """

    kernel: str
    batch: Batch
    seconds: float
    weight: float = 1.0


@runtime_checkable
class TrainableModel(CostModel, Protocol):
    """A cost model that measured times improve."""

    def retrain(self, runs: Sequence[PricedRun]) -> CostModel:
        """A model that has learned from these runs, in addition to all that this one has learned.
        It depends on nothing else. This model does not change.
        """
        ...
