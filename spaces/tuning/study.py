"""Studies: ask for schedules to measure, tell their results, stop and resume at any time."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from typing import Self, TypeAlias

from attrs import define, evolve, field

from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.conditions import USUAL, RunConditions
from spaces.cost.measurer import TIME, Measurement, Measurer, RunOutcome
from spaces.cost.model import CostModel
from spaces.cost.pool import MeasuringPool
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.markup.card import Card
from spaces.markup.shows_card import ShowsCard
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.articles import shown_kind
from spaces.model.deadline import Deadline
from spaces.model.expressions.numbers import seconds_given
from spaces.model.registry import PluginError
from spaces.model.schedules.schedule import Schedule
from spaces.plots.plot import Plot
from spaces.tuning.first_trials import (
    find_trusted_schedule,
)
from spaces.tuning.identity import TuningMachine
from spaces.tuning.opened_study import SEARCHING, BusyStudyError, first_proposals, open_study
from spaces.tuning.opening_search import OpeningSearch
from spaces.tuning.pareto import OBJECTIVES, pareto_trials
from spaces.tuning.plots.kinds import PlotKind
from spaces.tuning.plots.plot import study_plot
from spaces.tuning.plots.study_record import StudyRecord, study_record
from spaces.tuning.pooled_run import PooledRun
from spaces.tuning.retries import ATTEMPTS
from spaces.tuning.running import TURN, StudyRun
from spaces.tuning.shown_study import study_card, study_text
from spaces.tuning.store import TuningStore
from spaces.tuning.strategy import SearchingStrategy, TuningStrategy
from spaces.tuning.trial import Proposal, Trial
from spaces.tuning.trial_log import TrialLog

Callback: TypeAlias = Callable[["Study", Trial], None]
"""Called after each result."""

__all__ = ["BusyStudyError", "Callback", "Study"]

log = logging.getLogger("spaces.tuning")

BESIDE = 0.5
"""The most seconds that a search goes on while machines of a pool measure, before their results are
taken.
"""


@define(repr=False)
class Study(ShowsCard):
    """The tuning of one pipeline at one size on one machine. A context manager.

    Every trial is in the store before it is measured, and its result right after. So a study may
    be stopped or killed at any moment: opened again, it goes on with the trials that have no
    result, and measures nothing twice. Trials are read from the store when somebody asks for them,
    so a large study opens at once, and the store stays open as long as the study is asked.

    Attributes:
        space: the space of schedules. store: the store. id: the number of the study in the store.
        reference: the schedule that runs beside all others. It should be about as fast as these,
            for a slow one takes most of the time. If the user gives none, and a trial is surely
            twice as fast as the first one, this trial stands in for it in later runs. The store
            then has the times of the stand-in divided by its ratio, so all ratios compare.
        model: the cost model.
        strategy: what proposes schedules.
        seed: the seed of random choices.
        opening: the search that proposes the first schedules; None once it is over.
        was_interrupted: whether Ctrl-C ended the last :meth:`run`.

    >>> with Study.open(TuningStore.open("tuning.sqlite"), space) as study:
    ...     study.run(LocalMeasurer(reference=study.reference, trusted=study.trusted), seconds=600)
    ...     print(study.best)
    """

    space: ScheduleSpace
    store: TuningStore
    id: int
    reference: Schedule
    model: CostModel = field(repr=False)
    strategy: TuningStrategy
    seed: int
    _trials: TrialLog = field(repr=False)
    opening: OpeningSearch | None = field(repr=False, default=None)
    was_interrupted: bool = field(init=False, default=False, repr=False)
    _stand_in_ratio: float = field(repr=False, default=1.0)

    def __str__(self) -> str:
        return study_text(self)

    def _card(self) -> Card:
        return study_card(self)

    def record(self) -> StudyRecord:
        """What the store knows about the study: the source of its tables and plots.

        Raises:
            StoreError: the store is closed or damaged.
        """
        return study_record(self.store, self.id, self._trials)

    def plot(self, kind: PlotKind | str = PlotKind.TRIALS) -> Plot:
        """A plot of the study. It shows itself in notebooks; with the extra ``plots`` it gives a
        figure of matplotlib, and writes pictures.

        Args:
            kind: which one (:class:`PlotKind`): the fastest schedule against ``trials`` or
                ``time``, the ``funnel``, ``predictions`` beside measurements, ``decisions`` as
                parallel coordinates, or the ``standing`` beside schedules by hand.

        Raises:
            ValueError: no plot has this name.
            NothingToPlotError: the study has no numbers for this plot yet.
            StoreError: the store is closed or damaged.

        >>> study.plot("predictions").write("predictions.png")
        """
        return study_plot(self.record(), kind)

    def __repr__(self) -> str:
        about = f"{self.space.pipeline.name} for {self.space.device.name}"
        return f"<Study {self.id} of {about}: {amount(len(self._trials), 'trial')}>"

    @staticmethod
    def open(
        store: TuningStore,
        space: ScheduleSpace,
        *,
        model: str = "",
        strategy: str | TuningStrategy | None = None,
        start: Sequence[Schedule] = (),
        seed: int = 0,
        reference: Schedule | None = None,
        searching: float = SEARCHING,
        threads: int | None = None,
        float_mode: FloatMode = FloatMode.STRICT,
        conditions: RunConditions = USUAL,
        machine: TuningMachine | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> Study:
        """The study of a space, as the store has it; a new one if it has none.

        A new study begins with the reference and the schedules of ``start``, such as one by hand.
        Then come the fastest ones of earlier studies of the same pipeline at other sizes or on
        other machines.

        Args:
            store: the store.
            space: the space.
            model: the name of a cost model; by default :func:`default_model`.
            strategy: what proposes schedules, or its name; by default :class:`Evolving`.
            start: legal schedules to measure first.
            seed: the seed of random choices.
            reference: a legal schedule to run beside all others; by default the one that a
                search by the model finds.
            searching: the most seconds in which a new study searches before its first measurement;
                :meth:`run` goes on with the search later.
            threads: how many threads the measurer gives parallel loops; None for one on each core.
            float_mode: the float mode in which the measurer compiles.
            conditions: under which conditions the measurer times schedules.
            machine: the machine that measures; by default this one.
            look: called several times a second during that search.

        Raises:
            BusyStudyError: another process tunes this study.
            ValueError: a schedule of ``start`` or the reference is illegal, the space has a
                Python restriction, or the seed is too large.
            EmptySpaceError: no simple schedule of the space is legal.
            UnknownTuningStrategyError: no strategy has this name.
        """
        opened = open_study(
            store,
            space,
            model=model,
            strategy=strategy,
            seed=seed,
            reference=reference,
            searching=searching,
            threads=threads,
            float_mode=float_mode,
            conditions=conditions,
            machine=machine,
            look=look,
        )
        trials = opened.trials
        study = Study(
            space,
            store,
            opened.id,
            opened.beside,
            opened.model,
            opened.strategy,
            seed,
            trials,
            opened.opening,
            stand_in_ratio=opened.ratio,
        )
        log.info("study %d of %s has %d trials", study.id, store.path, len(trials))
        if not trials:
            study._propose(first_proposals(opened, store, space, start))
            if not isinstance(study.strategy, SearchingStrategy):
                study._end_search()
            study.search(0.0)
        study._set_aside()
        return study

    def _end_search(self) -> None:
        if self.opening is not None:
            self.opening.close()
            self.opening = None

    def _set_aside(self) -> None:
        """Marks trials as crashed if the process that measured them ended again and again."""
        for trial in self._trials.open(wanted=lambda attempts: attempts > ATTEMPTS):
            reason = f"The process that tunes ended {trial.attempts} times while it was measured."
            self.tell(trial, Measurement(trial.schedule, RunOutcome.CRASHED, reason))

    def _propose(self, proposals: Sequence[Proposal]) -> None:
        self._trials.add(self.store.propose(self.id, self.space.pipeline, proposals))

    @property
    def trusted(self) -> Schedule:
        """A simple schedule, which gives the results that all others must give.

        Raises:
            EmptySpaceError: no simple schedule of the space is legal.
        """
        return find_trusted_schedule(self.space)

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
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        return self.space.pipeline

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
        made: object = of_strategy(self.space, self.model, self._trials, self.seed)
        if not isinstance(made, Sequence) or not all(isinstance(one, Proposal) for one in made):
            raise PluginError(
                f"Tuning strategy {type(self.strategy).__name__} proposes {shown_kind(made)}; "
                "generation(space, model, trials, seed) must return a list of Proposals."
            )
        return list(made)

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

    @property
    def trial_log(self) -> TrialLog:
        """The trials, with what is often asked of them."""
        return self._trials

    def trial(self, number: int) -> Trial:
        """The trial with this number.

        Raises:
            KeyError: there is none.
        """
        return self._trials.of_number(number)

    def run(
        self,
        measurer: Measurer | MeasuringPool,
        *,
        seconds: float | None = None,
        trials: int | None = None,
        batch: int = 6,
        callbacks: Iterable[Callback] = (),
        phase: Callable[[str], None] = lambda what: None,
    ) -> Trial | None:
        """Asks, measures and tells until the time is over, the study has that many results, or
        Ctrl-C stops it. Results are kept one by one, as soon as they are known.

        With a :class:`GradualMeasurer`, such as :class:`LocalMeasurer`, the fastest trial so far
        takes part in each batch, and at the end those that may be the fastest are measured again
        together.

        Args:
            measurer: what measures; its reference should be :attr:`reference`. With a
                :class:`MeasuringPool`, such as :class:`DaskMeasurer`, no machine waits for
                another one; what is proposed depends on the order of results then.
            seconds: the time limit; None for none. What is measured when it ends has no result.
            trials: the number of results at which to stop; None for no limit.
            batch: how many schedules are measured together.
            callbacks: functions of the study and a trial, called when the trial has its first
                result; later rounds may add runs.
            phase: called with what comes next, such as "searching".

        Returns:
            The fastest trial; None if none has times. After Ctrl-C :attr:`was_interrupted` is true.
        """
        deadline = Deadline.after(
            None if seconds is None else seconds_given("run(seconds)", seconds)
        )
        listeners = tuple(callbacks)
        try:
            if isinstance(measurer, MeasuringPool):
                tell = partial(_tell_all, listeners, self)
                PooledRun(self, measurer, deadline, trials, tell).run()
            else:
                StudyRun(self, measurer, deadline, trials, batch, listeners, phase).go()
        except KeyboardInterrupt:
            self.was_interrupted = True
        return self.best

    def close(self) -> None:
        """Ends the search, and lets other processes tune the study."""
        if self.opening is not None:
            self.opening.close()
        self.store.release_study(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tell_all(listeners: Sequence[Callback], study: Study, trial: Trial) -> None:
    for call in listeners:
        call(study, trial)
