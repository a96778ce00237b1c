"""Runs a study on many machines: no machine waits for another one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from typing import Protocol

from attrs import define, field

from spaces.cost.measurer import Measurement
from spaces.cost.pool import MeasuringPool
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.tuning.retries import ATTEMPTS, is_transient
from spaces.tuning.trial import Trial

log = logging.getLogger("spaces.tuning")

WAITING = 0.5
"""Seconds to wait for a result before the pool is asked again what it wants."""


class AskedAndTold(Protocol):
    """What a run needs of a study."""

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        ...

    @property
    def told(self) -> int:
        """How many trials have a result."""
        ...

    def ask_beyond(self, running: Set[int], count: int, *, may_propose: bool) -> list[Trial]:
        """Trials to measure beside those that are being measured."""
        ...

    def tell(self, trial: Trial, result: Measurement) -> Trial:
        """Keeps the result of a trial."""
        ...

    def begin(self, trials: Iterable[Trial]) -> None:
        """Notes that trials were tried once more."""
        ...


@define
class PooledRun:
    """A run of a study in which schedules are proposed whenever the pool wants some, and each
    result is kept as soon as it comes. So what is proposed depends on the order of results, too.

    Attributes:
        study: the study.
        pool: what measures.
        deadline: when the run ends. What is measured then has no result, and stays open.
        trials: the number of results at which it ends; None for no limit.
        listen: called with each trial that has a result.
    """

    study: AskedAndTold
    pool: MeasuringPool
    deadline: Deadline
    trials: int | None = None
    listen: Callable[[Trial], None] = lambda trial: None
    _running: dict[int, Trial] = field(init=False, factory=dict)
    _is_fresh: bool = field(init=False, default=True)

    def run(self) -> None:
        """Asks, measures and tells."""
        try:
            while not self._is_over:
                wants_more = self._feed()
                if not self._running:
                    break
                seconds = 0.0 if wants_more else min(WAITING, self.deadline.left)
                self._tell(self.pool.collect(seconds))
        finally:
            self.pool.cancel()

    @property
    def _is_over(self) -> bool:
        return self.deadline.is_past or self._left <= 0

    @property
    def _left(self) -> int:
        """How many further results are wanted."""
        if self.trials is None:
            return 1 << 60
        return self.trials - self.study.told

    def _feed(self) -> bool:
        """Gives the pool the next schedules that it wants. Returns whether it may want more: first
        the study keeps the results that came meanwhile, so that the next proposals know them. A
        strategy that proposes nothing is asked again when there is a further result.
        """
        count = min(self.pool.wanted, self._left - len(self._running))
        if count <= 0:
            return False
        asked: list[Trial] = []
        with suppress(OutOfTime), self.deadline.kept():
            asked = self.study.ask_beyond(self._running.keys(), count, may_propose=self._is_fresh)
            if asked:
                pairs = [(one.number, one.schedule) for one in asked]
                self.pool.submit(self.study.pipeline, pairs)
                self._running |= {one.number: one for one in asked}
        if not asked:
            self._is_fresh = False
        return len(asked) > 0

    def _tell(self, found: Sequence[tuple[int, Measurement]]) -> None:
        for number, result in found:
            trial = self._running.pop(number, None)
            if trial is None:
                continue
            self._is_fresh = True
            if is_transient(result) and trial.attempts + 1 < ATTEMPTS:
                log.info("trial %d is tried again: %s", number, result)
                self.study.begin([trial])
                continue
            told = self.study.tell(trial, result)
            self.listen(told)
