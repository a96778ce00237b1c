"""Tuning by a search alone: its best schedules are measured, as in [A21] section 6 (top 5)."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.board import Limits
from spaces.enumerate.empty_space import EmptySpaceError
from spaces.enumerate.space import ScheduleSpace
from spaces.enumerate.stagewise import Stagewise
from spaces.enumerate.strategies import best
from spaces.tuning.trial import Proposal, Trial

SEARCH = "search"
"""The source of what the search finds."""


@frozen(kw_only=True)
class TopRanked:
    """The schedules that a search by the model ranks first, and nothing else.

    Attributes:
        found: how many schedules are measured; they differ in structure.
        structures: how many structures the search scores at most.
    """

    found: int = 5
    structures: int = 2000

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        if any(trial.proposal.source == SEARCH for trial in trials):
            return []
        limits = Limits(top=self.found, structures=self.structures, seed=seed)
        try:
            done = best(Stagewise()(space, model, limits))
        except (EmptySpaceError, ValueError):  # restrictions may name loops that patterns lack
            return []
        return [Proposal(one.schedule, SEARCH, one.cost) for one in done.best]
