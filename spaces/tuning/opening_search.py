"""The search with which a study begins: it goes on in turns with measuring, and its store keeps
where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from attrs import define, evolve, field

from spaces.cost.model import CostModel
from spaces.enumerate.search.improving import ImprovingFrom
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pausing import PausingSearch
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.search_counts import SearchCounts
from spaces.tuning.store import TuningStore
from spaces.tuning.strategy import FirstSearch, SearchingStrategy, TuningStrategy
from spaces.tuning.top_ranked import SEARCH
from spaces.tuning.trial import Proposal
from spaces.tuning.trial_log import TrialLog

NONE_YET = SearchCounts(0, 0, 0)
"""The counts of a search that begins."""

ALONE = FirstSearch(None, Limits())
"""The search for a reference, for strategies that do not begin with a search."""


@define(eq=False)
class OpeningSearch:
    """The search of a study.

    Attributes:
        before: what earlier processes have counted.
        seconds: how long this process has searched.
    """

    before: SearchCounts
    _search: PausingSearch = field(repr=False)
    _is_over: bool = field(init=False, default=False)
    _proposed: int = field(init=False, default=0)

    @staticmethod
    def begin(
        space: ScheduleSpace, model: CostModel, strategy: TuningStrategy, seed: int
    ) -> OpeningSearch:
        """The search of a new study."""
        opening = strategy.opening(seed) if isinstance(strategy, SearchingStrategy) else ALONE
        return OpeningSearch(
            NONE_YET, PausingSearch(space, model, opening.strategy, opening.limits)
        )

    @staticmethod
    def go_on(
        space: ScheduleSpace,
        model: CostModel,
        strategy: TuningStrategy,
        seed: int,
        trials: TrialLog,
        kept: tuple[SearchCounts, bool] | None,
    ) -> OpeningSearch | None:
        """The search of a study that was stopped: it changes the best schedule of those that it has
        found. None if the search is over, or if the strategy has none.

        Args:
            space: the space.
            model: the cost model.
            strategy: the strategy of the study.
            seed: the seed of the study.
            trials: the trials of the study.
            kept: how far the search has come, as the store keeps it.
        """
        if not isinstance(strategy, SearchingStrategy):
            return None
        opening = strategy.opening(seed)
        found = trials.cheapest(SEARCH)
        if kept is None and found is not None:
            return None
        if kept is None:
            return OpeningSearch.begin(space, model, strategy, seed)
        counts, is_over = kept
        structures = counts.structures
        left = math.inf if opening.limits.structures is None else opening.limits.structures
        if is_over or structures >= left:
            return None
        start = (found or trials[0]).schedule
        limits = evolve(
            opening.limits,
            structures=None if math.isinf(left) else int(left) - structures,
            seed=seed + structures,
        )
        search = PausingSearch(space, model, ImprovingFrom(start=start), limits)
        return OpeningSearch(counts, search)

    @property
    def is_over(self) -> bool:
        """Whether the search has ended by itself."""
        return self._is_over or self._search.is_over

    @property
    def seconds(self) -> float:
        """How long this process has searched."""
        return self._search.worked

    @property
    def best(self) -> Schedule | None:
        """The cheapest schedule so far; None if it has found none."""
        return self._search.found[0].schedule if self._search.found else None

    def advance(self, seconds: float, look: Callable[[], None] = lambda: None) -> None:
        """Lets it go on for that many seconds, or until it ends.

        Args:
            seconds: the most it takes.
            look: called at the start, and several times a second.

        Raises:
            OutOfTime: a deadline around this call is past.
            PluginError: the search is one of the user's, and breaks its contract.
        """
        look()
        try:
            self._search.advance(seconds, look)
        except (EmptySpaceError, ValueError):  # restrictions may name loops that patterns lack
            self._is_over = True

    def proposals(self) -> list[Proposal]:
        """The best schedules so far, except those of earlier calls. While the search goes on, all
        calls together give at most as many as it finds in the end.
        """
        found = [one for one in self._search.found if math.isfinite(one.cost)]
        if not self.is_over:
            found = found[: max(0, self._search.limits.top - self._proposed)]
        self._proposed += len(found)
        return [Proposal(one.schedule, SEARCH, one.cost) for one in found]

    def keep(self, store: TuningStore, study: int) -> None:
        """Keeps how far it has come."""
        search = self._search
        counts = SearchCounts(search.structures, search.considered, search.legal)
        store.keep_search(study, self.before + counts, is_over=self.is_over)

    def close(self) -> None:
        """Gives it up."""
        self._search.close()
