"""The loop of a study: search a while, ask, measure, tell, and measure the finalists again."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from spaces.cost.measurer import GradualMeasurer, Measurement, Measurer
from spaces.model.deadline import Deadline, OutOfTime
from spaces.tuning.retries import ATTEMPTS, is_transient
from spaces.tuning.trial import FINALISTS, Trial, finalists

if TYPE_CHECKING:
    from spaces.tuning.study import Callback, Study

log = logging.getLogger("spaces.tuning")

SEARCHING = 0.2
"""The largest share of the time that goes to searching between measurements. What the strategy
takes for its proposals counts.
"""

TURN = 5.0
"""The most seconds that a search goes on between two batches."""

FINAL = 0.1
"""The largest share of the time limit that is left for the finalists."""


@define
class StudyRun:
    """A run of a study until its time is over or it has that many results.

    Attributes:
        study: the study.
        measurer: what measures.
        deadline: the end of the time.
        trials: the number of results at which to stop; None for no limit.
        batch: how many schedules are measured together.
        callbacks: called when a trial has its first result.
        phase: called with what the run does next.
    """

    study: Study
    measurer: Measurer
    deadline: Deadline
    trials: int | None
    batch: int
    callbacks: Sequence[Callback]
    phase: Callable[[str], None]
    _began: float = field(init=False, factory=lambda: time.monotonic())
    _pace: float = field(init=False, default=0.0)
    _batches: int = field(init=False, default=0)
    _has_warned: bool = field(init=False, default=False)

    def go(self) -> None:
        """Measures.

        Raises:
            MeasuringError: the measurer cannot measure anything.
        """
        try:
            while (wanted := self._how_many()) > 0:
                with self.deadline.kept():
                    self._search_a_while()
                    asked = self.study.ask(wanted)
                if not asked:
                    break
                self.phase(f"measuring {name_trials(asked)}")
                self._measure(asked, self._again(asked))
            self._measure_finalists()
        except OutOfTime:
            pass

    def _how_many(self) -> int:
        """How many schedules the next batch has at most."""
        wanted = self.batch
        if self.trials is not None:
            wanted = min(wanted, self.trials - self.study.told)
        left = self.deadline.left
        if self._pace and left < math.inf:
            wanted = min(wanted, int((left - self._final_seconds) / self._pace))
        return 0 if self.deadline.is_past else wanted

    @property
    def _is_gradual(self) -> bool:
        return isinstance(self.measurer, GradualMeasurer)

    @property
    def _final_seconds(self) -> float:
        """The seconds that are left for the finalists."""
        if not self._is_gradual:
            return 0.0
        whole = self.deadline.at - self._began
        return min(FINAL * whole, FINALISTS * self._pace)

    def _search_a_while(self) -> None:
        search = self.study.opening
        if search is None or search.is_over:
            return
        share = SEARCHING * (time.monotonic() - self._began)
        seconds = share - search.seconds - self.study.proposing
        if seconds > 0:
            self.phase("searching")
            self.study.search(min(seconds, TURN))

    def _again(self, asked: Sequence[Trial]) -> list[Trial]:
        """The trials that are measured again with a batch. The incumbent is, so that slower
        candidates are left soon and a lucky one does not stay the best; and once in each run the
        reference is.
        """
        if not self._is_gradual or any(one.attempts for one in asked):
            return []
        chosen = [] if self.study.best is None else [self.study.best]
        first = self.study.trial_log[0]
        if self._batches == 0 and first not in chosen and first.result and first.result.ratios:
            chosen.append(first)
        return chosen

    def _measure_finalists(self) -> None:
        """Measures again, together, what may be the fastest."""
        last = finalists(self.study.trial_log)
        if self._is_gradual and self._batches and len(last) > 1:
            self.phase(f"measuring {name_trials(last)} again")
            self._measure([], last)

    def _measure(self, asked: Sequence[Trial], again: Sequence[Trial]) -> None:
        """Measures new trials, and others again, and keeps each result when it is known.

        Raises:
            OutOfTime: the time is over; what has no result by then stays open.
        """
        study, numbers = self.study, [one.number for one in (*asked, *again)]
        began = time.monotonic()
        study.begin(asked)
        left = {one.number for one in asked}
        kept = dict.fromkeys(numbers, 0)
        failed: set[int] = set()  # for now; these keep their attempt
        try:
            for place, result in self._results([study.trial(number) for number in numbers]):
                number = numbers[place]
                is_first = study.trial(number).result is None
                if not self._keep(number, result, kept):
                    failed.add(number)
                elif is_first:
                    left.discard(number)
                    self._tell_all(study.trial(number))
        finally:
            study.leave(left - failed)
        self._batches += 1
        if asked:
            self._pace = (time.monotonic() - began) / len(numbers)

    def _results(self, trials: Sequence[Trial]) -> Iterator[tuple[int, Measurement]]:
        """The results as they come; a plain measurer has them all at once."""
        pipeline, schedules = self.study.space.pipeline, [one.schedule for one in trials]
        if isinstance(self.measurer, GradualMeasurer):
            results = self.measurer.measure_gradually(pipeline, schedules)
            try:
                yield from self.deadline.each(results)
            finally:
                if isinstance(results, Generator):
                    results.close()  # which ends a measurement that the time limit cuts
            return
        with self.deadline.kept():
            found = self.measurer.measure(pipeline, schedules)
        yield from zip(range(len(trials)), found, strict=True)

    def _keep(self, number: int, result: Measurement, kept: dict[int, int]) -> bool:
        """Keeps a result as far as it is new, and returns whether the trial has one.

        Args:
            number: the number of the trial.
            result: its measurement.
            kept: the number of runs of each trial that are kept by now; it grows.
        """
        study, trial = self.study, self.study.trial(number)
        may_be_tried = trial.result is not None or trial.attempts < ATTEMPTS
        if not result.is_correct and is_transient(result) and may_be_tried:
            log.info("trial %d is tried again later, apart: %s", number, result)
            return trial.result is not None
        first = kept[number]
        kept[number] = len(result.seconds)
        if trial.result is None:
            study.tell(trial, result)
        elif not result.is_correct:
            study.replace(trial, result)
        else:
            study.add_runs(
                trial,
                evolve(
                    result,
                    seconds=result.seconds[first:],
                    reference_seconds=result.reference_seconds[first:],
                ),
            )
        return True

    def _tell_all(self, trial: Trial) -> None:
        """Calls the callbacks, and once warns of a busy machine."""
        if trial.result is not None and trial.result.is_disturbed and not self._has_warned:
            self._has_warned = True
            log.warning(
                "other programs take %.0f %% of the processors, and times of the reference spread "
                "by %.0f %%; results of this time are marked as disturbed",
                100 * trial.result.others,
                100 * trial.result.reference_spread,
            )
        for call in self.callbacks:
            call(self.study, trial)


def name_trials(trials: Sequence[Trial]) -> str:
    """The numbers of some trials: ``trial 6``, ``trials 3, 7`` or ``trials 0 to 5``."""
    numbers = [one.number for one in trials]
    if len(numbers) == 1:
        return f"trial {numbers[0]}"
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 2 and numbers == list(range(first, last + 1)):
        return f"trials {first} to {last}"
    return f"trials {', '.join(map(str, numbers))}"
