"""The trials of a study in memory, with what is asked of them after each result: which are open,
which are the fastest, and whether a schedule was tried. No answer takes longer when there are more.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import overload

from attrs import define, evolve, field, frozen

from spaces.cost.measurer import Measurement
from spaces.model.algorithm.pipeline import Pipeline
from spaces.tuning.identity import schedule_digest
from spaces.tuning.trial import Trial, rank_of


@frozen(eq=False)
class Ranking(Sequence[Trial]):
    """The trials of a log in the order of their ranks, made only as they are looked at."""

    _log: TrialLog
    _ranks: Sequence[tuple[float, float, int]]

    def __len__(self) -> int:
        return len(self._ranks)

    @overload
    def __getitem__(self, place: int) -> Trial: ...
    @overload
    def __getitem__(self, place: slice) -> list[Trial]: ...
    def __getitem__(self, place: int | slice) -> Trial | list[Trial]:
        if isinstance(place, slice):
            return [self._log.of_number(number) for *_, number in self._ranks[place]]
        return self._log.of_number(self._ranks[place][2])


@define(eq=False)
class TrialLog(Sequence[Trial]):
    """Trials in the order of their numbers. A number may be missing, where a row of the store is
    damaged.

    Attributes:
        pipeline: the pipeline of the study.
    """

    pipeline: Pipeline
    _trials: list[Trial] = field(init=False, factory=list)
    _digests: set[str] = field(init=False, factory=set)
    _places: dict[int, int] = field(init=False, factory=dict)
    _open: dict[int, None] = field(init=False, factory=dict)
    _ranking: list[tuple[float, float, int]] = field(init=False, factory=list)

    @staticmethod
    def of(pipeline: Pipeline, trials: Iterable[Trial], digests: Iterable[str]) -> TrialLog:
        """The log of trials.

        Args:
            pipeline: the pipeline of the study.
            trials: the trials, by their numbers.
            digests: the digests of all schedules that were tried, also of those without a trial.
        """
        made = TrialLog(pipeline)
        made._trials = list(trials)
        made._digests = set(digests)
        made._places = {one.number: place for place, one in enumerate(made._trials)}
        made._open = {one.number: None for one in made._trials if one.result is None}
        made._ranking = sorted(filter(None, map(rank_of, made._trials)))
        return made

    def add(self, trials: Iterable[Trial]) -> None:
        """Adds open trials, whose numbers are higher than those before."""
        for trial in trials:
            self._places[trial.number] = len(self._trials)
            self._trials.append(trial)
            self._digests.add(schedule_digest(self.pipeline, trial.schedule))
            self._open[trial.number] = None

    def tell(self, number: int, result: Measurement) -> Trial:
        """The trial with its result, which the log keeps; it takes the place of an earlier one."""
        return self.put(evolve(self.of_number(number), result=result, attempts=0))

    def put(self, trial: Trial) -> Trial:
        """Keeps a trial in the place of the one with its number, and returns it."""
        place = self._places[trial.number]
        earlier = rank_of(self._trials[place])
        if earlier is not None:
            del self._ranking[bisect_left(self._ranking, earlier)]
        self._trials[place] = trial
        if trial.result is not None:
            self._open.pop(trial.number, None)
        rank = rank_of(trial)
        if rank is not None:
            insort(self._ranking, rank)
        return trial

    def of_number(self, number: int) -> Trial:
        """The trial with this number.

        Raises:
            KeyError: there is none.
        """
        return self._trials[self._places[number]]

    def open(self, count: int | None = None) -> tuple[Trial, ...]:
        """The first trials without a result."""
        return tuple(self.of_number(number) for number in islice(self._open, count))

    def open_beyond(self, others: Set[int], count: int) -> tuple[Trial, ...]:
        """The first trials without a result whose numbers are not among others."""
        wanted = (number for number in self._open if number not in others)
        return tuple(self.of_number(number) for number in islice(wanted, count))

    @property
    def told(self) -> int:
        """How many trials have a result."""
        return len(self._trials) - len(self._open)

    @property
    def ranked(self) -> Sequence[Trial]:
        """The trials with times, the fastest first (:func:`~spaces.tuning.trial.fastest`)."""
        return Ranking(self, self._ranking)

    @property
    def best(self) -> Trial | None:
        """The fastest trial; None as long as none has times."""
        return self.ranked[0] if self._ranking else None

    @property
    def digests(self) -> Set[str]:
        """The digests of all schedules that were tried."""
        return self._digests

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials)

    @overload
    def __getitem__(self, place: int) -> Trial: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Trial, ...]: ...
    def __getitem__(self, place: int | slice) -> Trial | tuple[Trial, ...]:
        if isinstance(place, slice):
            return tuple(self._trials[place])
        return self._trials[place]


def tried_digests(pipeline: Pipeline, trials: Sequence[Trial]) -> set[str]:
    """The digests of the schedules of some trials."""
    if isinstance(trials, TrialLog):
        return set(trials.digests)
    return {schedule_digest(pipeline, trial.schedule) for trial in trials}
