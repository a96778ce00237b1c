"""The protocol of strategies that learn from the results of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import Strategy
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


@frozen
class FirstSearch:
    """The search with which a strategy begins.

    Attributes:
        strategy: the search; None for the default one.
        limits: how many schedules it finds, and how many structures it scores; without a time
            limit.
    """

    strategy: Strategy | None
    limits: Limits


@runtime_checkable
class SearchingStrategy(TuningStrategy, Protocol):
    """A strategy that begins with a search by the model. A study runs this search in turns with
    measuring, so that the first schedules are measured before the search ends.
    """

    def opening(self, seed: int) -> FirstSearch:
        """The search."""
        ...

    def changes(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        """What :meth:`generation` proposes beside what the search finds."""
        ...
