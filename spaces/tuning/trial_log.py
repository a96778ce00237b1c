"""The trials of a study, read from its store as they are asked for: which are open, which are the
fastest, and whether a schedule was tried. So a study of any size opens at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import overload

from attrs import define, evolve, field, frozen

from spaces.cost.measurer import Measurement
from spaces.model.algorithm.pipeline import Pipeline
from spaces.tuning.identity import schedule_digest
from spaces.tuning.stored_trials import PAGE, StoredTrials
from spaces.tuning.trial import Trial

KEPT = 1024
"""How many trials a log keeps in memory, those that were looked at last."""


@frozen(eq=False)
class Ranking(Sequence[Trial]):
    """The trials of a log with times, the fastest first; read as they are looked at. Damaged ones
    count in the length alone.
    """

    _log: TrialLog

    def __len__(self) -> int:
        return self._log.store.count_ranked(self._log.study)

    def __iter__(self) -> Iterator[Trial]:
        place = 0
        while numbers := self._log.store.ranked_numbers(self._log.study, place, PAGE):
            yield from filter(None, map(self._log.find, numbers))
            place += len(numbers)

    @overload
    def __getitem__(self, place: int) -> Trial: ...
    @overload
    def __getitem__(self, place: slice) -> list[Trial]: ...
    def __getitem__(self, place: int | slice) -> Trial | list[Trial]:
        if isinstance(place, slice):
            return list(islice(self, *place.indices(len(self))))
        found = next(islice(self, place if place >= 0 else len(self) + place, None), None)
        if found is None:
            raise IndexError(place)
        return found


@define(eq=False)
class TrialLog(Sequence[Trial]):
    """The trials of a study that this process tunes, by their numbers. A number may be missing,
    where a row of the store is damaged.

    Attributes:
        store: the store, open as long as anything is asked.
        study: the number of the study.
    """

    store: StoredTrials
    study: int
    _count: int = field(init=False)
    _open: dict[int, int] = field(init=False)  # number: attempts
    _kept: dict[int, Trial] = field(init=False, factory=dict)
    _damaged: set[int] = field(init=False, factory=set)

    def __attrs_post_init__(self) -> None:
        self._count = self.store.count_trials(self.study)
        self._open = self.store.open_attempts(self.study)

    def add(self, trials: Iterable[Trial]) -> None:
        """Takes open trials that the store has got, whose numbers are higher than those before."""
        for trial in trials:
            self._count += 1
            self._open[trial.number] = trial.attempts
            self._keep(trial)

    def tell(self, number: int, result: Measurement) -> Trial:
        """The trial with its result, which the store has got; it takes the place of an earlier
        one.
        """
        return self.put(evolve(self.of_number(number), result=result, attempts=0))

    def put(self, trial: Trial) -> Trial:
        """Takes a trial that the store has changed, and returns it."""
        if trial.result is not None:
            self._open.pop(trial.number, None)
        elif trial.number in self._open:
            self._open[trial.number] = trial.attempts
        return self._keep(trial)

    def _keep(self, trial: Trial) -> Trial:
        self._kept.pop(trial.number, None)
        self._kept[trial.number] = trial
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return trial

    def find(self, number: int) -> Trial | None:
        """The trial with this number; None if the study lacks it, or if its row is damaged."""
        found = self._kept.get(number)
        if found is None and number not in self._damaged:
            found = self.store.trial(self.study, number)
            if found is None:
                self._damaged.add(number)
                self._open.pop(number, None)
        return None if found is None else self._keep(found)

    def of_number(self, number: int) -> Trial:
        """The trial with this number.

        Raises:
            KeyError: there is none, or its row is damaged.
        """
        found = self.find(number)
        if found is None:
            raise KeyError(number)
        return found

    def open(
        self, count: int | None = None, wanted: Callable[[int], bool] = lambda attempts: True
    ) -> tuple[Trial, ...]:
        """The first trials without a result.

        Args:
            count: how many at most; None for all.
            wanted: whether a trial that was begun this often is one of them.
        """
        numbers = [number for number, attempts in self._open.items() if wanted(attempts)]
        return tuple(islice(filter(None, map(self.find, numbers)), count))

    def open_beyond(self, others: Set[int], count: int) -> tuple[Trial, ...]:
        """The first trials without a result whose numbers are not among others."""
        numbers = [number for number in self._open if number not in others]
        return tuple(islice(filter(None, map(self.find, numbers)), count))

    def of_source(self, *sources: str) -> tuple[Trial, ...]:
        """The trials of some sources, by their numbers."""
        numbers = self.store.numbers_of_sources(self.study, sources)
        return tuple(filter(None, map(self.find, numbers)))

    def cheapest(self, source: str) -> Trial | None:
        """The trial of a source whose cost by the model is lowest; None if none was priced."""
        number = self.store.cheapest_number(self.study, source)
        return None if number is None else self.find(number)

    @property
    def told(self) -> int:
        """How many trials have a result."""
        return self._count - len(self._open)

    @property
    def ranked(self) -> Ranking:
        """The trials with times, the fastest first (:func:`~spaces.tuning.trial.fastest`)."""
        return Ranking(self)

    @property
    def best(self) -> Trial | None:
        """The fastest trial; None as long as none has times."""
        return next(iter(self.ranked), None)

    @property
    def digests(self) -> Container[str]:
        """The digests of all schedules that were tried, also of those with damaged rows."""
        return KeptDigests(self.store, self.study)

    def __len__(self) -> int:
        """How many trials the study has, damaged ones, too."""
        return self._count

    def __iter__(self) -> Iterator[Trial]:
        return self.store.each_trial(self.study)

    @overload
    def __getitem__(self, place: int) -> Trial: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Trial, ...]: ...
    def __getitem__(self, place: int | slice) -> Trial | tuple[Trial, ...]:
        """The trial with this number, or the next one where its row is damaged."""
        if isinstance(place, slice):
            numbers = range(*place.indices(self._count))
            return tuple(filter(None, map(self.find, numbers)))
        numbers = range(place if place >= 0 else self._count + place, self._count)
        found = next(filter(None, map(self.find, numbers)), None)
        if found is None:
            raise IndexError(place)
        return found


@frozen
class KeptDigests(Container[str]):
    """The digests of the schedules of a study, which its store has."""

    _store: StoredTrials
    _study: int

    def __contains__(self, digest: object) -> bool:
        return self._store.has_schedule(self._study, str(digest))


@define
class TriedDigests(Container[str]):
    """The digests of the schedules that were tried, and of those that are about to be."""

    _tried: Container[str]
    _more: set[str] = field(init=False, factory=set)

    def __contains__(self, digest: object) -> bool:
        return digest in self._more or digest in self._tried

    def add(self, digest: str) -> None:
        """Adds one."""
        self._more.add(digest)


def tried_digests(pipeline: Pipeline, trials: Sequence[Trial]) -> TriedDigests:
    """The digests of the schedules of some trials."""
    if isinstance(trials, TrialLog):
        return TriedDigests(trials.digests)
    return TriedDigests({schedule_digest(pipeline, trial.schedule) for trial in trials})


def sources_of(trials: Sequence[Trial]) -> Set[str]:
    """Where some trials come from."""
    if isinstance(trials, TrialLog):
        return trials.store.sources(trials.study)
    return {trial.proposal.source for trial in trials}
