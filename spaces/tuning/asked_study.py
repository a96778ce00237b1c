"""Which trials of a study are measured next: those that wait, else what its strategy proposes and
what its search finds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence, Set

from attrs import define, field

from spaces.cost.model import CostModel
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.articles import shown_kind
from spaces.model.registry import PluginError
from spaces.tuning.opening_search import OpeningSearch
from spaces.tuning.running import TURN
from spaces.tuning.strategy import SearchingStrategy, TuningStrategy
from spaces.tuning.told_study import ToldStudy
from spaces.tuning.trial import Proposal, Trial

log = logging.getLogger("spaces.tuning")

BESIDE = 0.5
"""The most seconds that a search goes on while machines of a pool measure, before their results are
taken.
"""


@define(repr=False, kw_only=True)
class AskedStudy(ToldStudy):
    """A study that is asked for trials to measure.

    Attributes:
        space: the space of schedules.
        model: the cost model.
        strategy: what proposes schedules.
        seed: the seed of random choices.
        opening: the search that proposes the first schedules; None once it is over.
        proposing: how many seconds the strategy has taken for its proposals in this process.
    """

    space: ScheduleSpace
    model: CostModel = field(repr=False)
    strategy: TuningStrategy
    seed: int
    opening: OpeningSearch | None = field(repr=False, default=None)
    proposing: float = field(init=False, default=0.0, repr=False)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        return self.space.pipeline

    def ask(self, count: int = 1) -> list[Trial]:
        """Trials to measure: first those that have no result yet. The strategy proposes a new
        generation only after all results of the last one, so there may be fewer than ``count``.
        If it proposes nothing more, the list is empty.

        A trial whose measurement failed or ended the process comes after all others, and alone.
        """
        waiting = self._waiting(count)
        if not waiting:
            proposals = self._generation()
            log.debug("study %d: %d more proposals", self.id, len(proposals))
            self._propose(proposals)
            waiting = self._waiting(count)
        while not waiting and self.opening is not None and not self.opening.is_over:
            self.search(TURN)
            waiting = self._waiting(count)
        return waiting

    def _waiting(self, count: int) -> list[Trial]:
        """Up to ``count`` open trials that nobody has begun. If there are none, one of those that
        were begun least often.
        """
        fresh = self._trials.open(count, lambda attempts: attempts == 0)
        apart = () if fresh else sorted(self._trials.open(), key=lambda one: one.attempts)[:1]
        return list(fresh or apart)

    def search(self, seconds: float) -> None:
        """Lets the search of the study go on for that many seconds, keeps where it stops, and
        proposes what it has found.
        """
        if self.opening is not None:
            try:
                self.opening.advance(seconds)
            finally:
                self.opening.keep(self.store, self.id)
                self._propose(self.opening.proposals())

    def ask_beyond(self, running: Set[int], count: int, *, may_propose: bool = True) -> list[Trial]:
        """Trials to measure beside those that are being measured. Where the others are too few, the
        strategy proposes more, though it does not know all results of its last generation. If no
        machine works, what waits comes at once.

        Args:
            running: the numbers of the trials that are being measured.
            count: how many trials are wanted; there may be fewer.
            may_propose: whether the strategy may propose more.
        """
        waiting = self._trials.open_beyond(running, count)
        if waiting and not running:
            return list(waiting)  # no machine works: these first
        if len(waiting) < count and may_propose:
            self._propose(self._generation())
            waiting = self._trials.open_beyond(running, count)
        while len(waiting) < count and self.opening is not None and not self.opening.is_over:
            self.search(BESIDE if running else TURN)
            waiting = self._trials.open_beyond(running, count)
            if running or waiting:
                break  # first the results that came meanwhile
        return list(waiting)

    def _generation(self) -> list[Proposal]:
        """The next proposals of the strategy.

        Raises:
            PluginError: it proposes something else.
        """
        of_strategy = (
            self.strategy.changes
            if isinstance(self.strategy, SearchingStrategy)
            else self.strategy.generation
        )
        began = time.monotonic()
        try:
            made: object = of_strategy(self.space, self.model, self._trials, self.seed)
        finally:
            self.proposing += time.monotonic() - began
        if not isinstance(made, Sequence) or not all(isinstance(one, Proposal) for one in made):
            raise PluginError(
                f"Tuning strategy {type(self.strategy).__name__} proposes {shown_kind(made)}; "
                "generation(space, model, trials, seed) must return a list of Proposals."
            )
        return list(made)

    def _propose(self, proposals: Sequence[Proposal]) -> None:
        self._trials.add(self.store.propose(self.id, self.space.pipeline, proposals))

    def _end_search(self) -> None:
        if self.opening is not None:
            self.opening.close()
            self.opening = None
