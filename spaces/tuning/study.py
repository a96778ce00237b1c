"""Studies: ask for schedules to measure, tell their results, stop and resume at any time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Self, TypeAlias

from attrs import define, field

from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.conditions import USUAL, RunConditions
from spaces.cost.measurer import Measurer
from spaces.cost.pool import MeasuringPool
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.markup.card import Card
from spaces.markup.shows_card import ShowsCard
from spaces.model.amounts import amount
from spaces.model.deadline import Deadline
from spaces.model.expressions.numbers import seconds_given
from spaces.model.schedules.schedule import Schedule
from spaces.plots.plot import Plot
from spaces.tuning.asked_study import AskedStudy
from spaces.tuning.first_trials import find_trusted_schedule
from spaces.tuning.identity import TuningMachine
from spaces.tuning.opened_study import SEARCHING, BusyStudyError, first_proposals, open_study
from spaces.tuning.plots.kinds import PlotKind
from spaces.tuning.plots.plot import study_plot
from spaces.tuning.plots.study_record import StudyRecord, study_record
from spaces.tuning.pooled_run import PooledRun
from spaces.tuning.running import StudyRun
from spaces.tuning.shown_study import study_card, study_text
from spaces.tuning.store import TuningStore
from spaces.tuning.strategy import SearchingStrategy, TuningStrategy
from spaces.tuning.trial import Trial

Callback: TypeAlias = Callable[["Study", Trial], None]
"""Called after each result."""

__all__ = ["BusyStudyError", "Callback", "Study"]

log = logging.getLogger("spaces.tuning")


@define(repr=False, kw_only=True)
class Study(AskedStudy, ShowsCard):
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
        proposing: how many seconds the strategy has taken for its proposals in this process.
        was_interrupted: whether Ctrl-C ended the last :meth:`run`.

    >>> with Study.open(TuningStore.open("tuning.sqlite"), space) as study:
    ...     study.run(LocalMeasurer(reference=study.reference, trusted=study.trusted), seconds=600)
    ...     print(study.best)
    """

    reference: Schedule
    was_interrupted: bool = field(init=False, default=False, repr=False)

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
        study = Study(
            space=space,
            store=store,
            id=opened.id,
            reference=opened.beside,
            model=opened.model,
            strategy=opened.strategy,
            seed=seed,
            trials=opened.trials,
            opening=opened.opening,
            stand_in_ratio=opened.ratio,
        )
        log.info("study %d of %s has %d trials", study.id, store.path, len(opened.trials))
        if not opened.trials:
            study._propose(first_proposals(opened, store, space, start))
            if not isinstance(study.strategy, SearchingStrategy):
                study._end_search()
            study.search(0.0)
        study._set_aside()
        return study

    @property
    def trusted(self) -> Schedule:
        """A simple schedule, which gives the results that all others must give.

        Raises:
            EmptySpaceError: no simple schedule of the space is legal.
        """
        return find_trusted_schedule(self.space)

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
