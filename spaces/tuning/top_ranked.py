"""Tuning by one search, whose best schedules are measured, as in [A21] section 6 (top 5)."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import ask_clock
from spaces.tuning.identity import schedule_digest
from spaces.tuning.strategy import FirstSearch
from spaces.tuning.trial import Proposal, Trial
from spaces.tuning.trial_log import sources_of, tried_digests

SEARCH = "search"
"""The source of schedules that the search finds."""


@frozen(kw_only=True)
class TopRanked:
    """The schedules that a search by the model ranks first, and nothing else. With ``found=1`` this
    is the one-shot mode of [A21].

    Attributes:
        found: how many schedules are measured; they differ in structure.
        structures: how many structures the search scores at most.
        strategy: the search; by default the one of :func:`search`. Its text (``repr``) is a part
            of the key of a study.
    """

    found: int = 5
    structures: int = 2000
    strategy: Strategy | None = None

    def opening(self, seed: int) -> FirstSearch:
        limits = Limits(top=self.found, structures=self.structures, seed=seed)
        return FirstSearch(self.strategy, limits)

    def changes(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        return []

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        if SEARCH in sources_of(trials):
            return []
        limits = self.opening(seed).limits
        tried = tried_digests(space.pipeline, trials)
        return [
            Proposal(one.schedule, SEARCH, one.cost)
            for one in rank_by_search(space, model, self.strategy, limits)
            if schedule_digest(space.pipeline, one.schedule) not in tried
        ]


def rank_by_search(
    space: ScheduleSpace, model: CostModel, strategy: Strategy | None, limits: Limits
) -> tuple[Found, ...]:
    """The best schedules of a search, cheapest first; none if it finds none.

    Raises:
        OutOfTime: a deadline around this call is past. The schedules found by then depend on the
            clock, so they are not returned.
    """
    try:
        done = best(search(space, model, strategy, limits))
    except (EmptySpaceError, ValueError):  # restrictions may name loops that patterns lack
        ask_clock()
        return ()
    ask_clock()
    return done.best
