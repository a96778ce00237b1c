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
        """What to measure next: legal schedules of the space, the most promising first.

        It may depend on nothing but the arguments, above all on no clock: then a study that is
        resumed goes on as if nothing had happened. An empty generation ends the study.

        Args:
            space: the space.
            model: the cost model.
            trials: all trials so far, each with its result; the first one is the reference.
            seed: the seed of random choices.
        """
        ...
