"""The protocol of strategies that learn from the results of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from spaces.cost.model import CostModel
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.tuning.trial import Proposal, Trial


@runtime_checkable
class TuningStrategy(Protocol):
    """Proposes schedules to measure, one generation after the other."""

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        """The schedules to measure next: legal ones of the space, the most promising first.

        They must depend on the arguments alone, above all on no clock. Then a study that is resumed
        goes on as if it had not stopped. An empty generation ends the study.

        Args:
            space: the space.
            model: the cost model.
            trials: all trials so far, each with its result; the first one is the reference.
            seed: the seed of random choices.
        """
        ...
