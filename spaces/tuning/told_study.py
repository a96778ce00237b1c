"""The trials of a study, and what becomes of each: the store keeps it first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from attrs import define, evolve, field

from spaces.cost.measurer import TIME, Measurement, RunOutcome
from spaces.tuning.pareto import OBJECTIVES, pareto_trials
from spaces.tuning.retries import ATTEMPTS
from spaces.tuning.store import TuningStore
from spaces.tuning.trial import Trial
from spaces.tuning.trial_log import TrialLog


@define(repr=False, kw_only=True)
class ToldStudy:
    """The trials of a study with their results.

    Attributes:
        store: the store.
        id: the number of the study in the store.
    """

    store: TuningStore
    id: int
    _trials: TrialLog = field(repr=False)
    _stand_in_ratio: float = field(repr=False, default=1.0)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far, in order."""
        return tuple(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        """The trials so far, in order, read as they are asked for."""
        return iter(self._trials)

    @property
    def open_trials(self) -> tuple[Trial, ...]:
        """The trials without a result."""
        return self._trials.open()

    @property
    def trial_log(self) -> TrialLog:
        """The trials, with what is often asked of them."""
        return self._trials

    def trial(self, number: int) -> Trial:
        """The trial with this number.

        Raises:
            KeyError: the study has no such trial.
        """
        return self._trials.of_number(number)

    @property
    def told(self) -> int:
        """How many trials have a result."""
        return self._trials.told

    @property
    def outcomes(self) -> dict[str, int]:
        """How many trials ended in which way (:class:`RunOutcome`), the most frequent first."""
        return self.store.outcomes(self.id)

    def of_source(self, *sources: str) -> tuple[Trial, ...]:
        """The trials of some sources (:attr:`Proposal.source`), such as ``start``."""
        return self._trials.of_source(*sources)

    @property
    def best(self) -> Trial | None:
        """The fastest trial; None as long as none has times."""
        return self._trials.best

    def pareto(self, *objectives: str) -> list[Trial]:
        """The trials that no other one beats in all objectives, sorted by the first objective
        (:func:`pareto_trials`).

        Args:
            objectives: names of objectives; by default ``time``, ``memory_bytes`` and
                ``code_bytes``.

        Raises:
            ValueError: no trial with times has a value for one of them.
        """
        return pareto_trials(self.store, self.id, objectives or OBJECTIVES)

    def tell(self, trial: Trial, result: Measurement) -> Trial:
        """Keeps the result of a trial, and returns the trial with it.

        Raises:
            StoreError: the study has no such trial, or its result is known.
        """
        result = self._beside_reference(result)
        return self._trials.tell(trial.number, self.store.tell(self.id, trial.number, result))

    def _beside_reference(self, result: Measurement) -> Measurement:
        """A measurement beside :attr:`reference`, as if beside the reference of the study."""
        if self._stand_in_ratio == 1.0:
            return result
        beside = tuple(one / self._stand_in_ratio for one in result.reference_seconds)
        return evolve(result, reference_seconds=beside)

    def add_runs(self, trial: Trial, result: Measurement) -> Trial:
        """Keeps further runs of a trial whose result is known, and returns the trial with them."""
        known = self._trials.of_number(trial.number).result
        if known is None:
            return self.tell(trial, result)
        result = self._beside_reference(result)
        self.store.add_runs(self.id, trial.number, result)
        return self._trials.tell(trial.number, known.with_runs_of(result))

    def replace(self, trial: Trial, result: Measurement) -> Trial:
        """Puts a failure in the place of the result of a trial: it has failed in a later run."""
        return self._trials.tell(trial.number, self.store.replace(self.id, trial.number, result))

    def note(self, trial: Trial, name: str, value: float) -> Trial:
        """Keeps a number with a trial that has a result, such as the energy of its run or the error
        of its output, and returns the trial with it. The lower the better, as for all objectives.

        Raises:
            ValueError: the value is not finite, the name is ``time``, or the trial has no result.
            KeyError: the study has no such trial.
        """
        known = self._trials.of_number(trial.number)
        if known.result is None or name == TIME or not math.isfinite(value):
            raise ValueError(
                f"Metric {name!r} of trial {trial.number} is {value}; note finite numbers of "
                f"trials with a result, under another name than {TIME!r}."
            )
        metrics = tuple({**dict(known.result.metrics), name: float(value)}.items())
        self.store.note(self.id, trial.number, metrics)
        return self._trials.put(evolve(known, result=evolve(known.result, metrics=metrics)))

    def begin(self, trials: Iterable[Trial]) -> None:
        """Notes that trials are being measured. If this process ends before it tells their results,
        the next one takes them apart.
        """
        begun = list(trials)
        self.store.begin_trials(self.id, [one.number for one in begun])
        for one in begun:
            self._trials.put(evolve(one, attempts=one.attempts + 1))

    def leave(self, numbers: Iterable[int]) -> None:
        """Notes that trials stay open for a reason that is not theirs, such as the end of the
        time.
        """
        left = list(numbers)
        self.store.leave_trials(self.id, left)
        for number in left:
            one = self._trials.of_number(number)
            self._trials.put(evolve(one, attempts=one.attempts - 1))

    def _set_aside(self) -> None:
        """Marks trials as crashed if the process that measured them ended again and again."""
        for trial in self._trials.open(wanted=lambda attempts: attempts > ATTEMPTS):
            reason = f"The process that tunes ended {trial.attempts} times while it was measured."
            self.tell(trial, Measurement(trial.schedule, RunOutcome.CRASHED, reason))
