"""Studies: ask for schedules to measure, tell their results, stop and resume at any time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Self, TypeAlias

from attrs import define, evolve, field

from spaces.cost.cpu.reuse import Reuse
from spaces.cost.measurer import Measurement, Measurer
from spaces.cost.model import CostModel
from spaces.cost.registry import default_model
from spaces.enumerate.search.first_schedules import UNIFORM_CHOICES, fill_schedule
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.markup.card import card, listing
from spaces.markup.element import share_bar, table
from spaces.model.amounts import amount
from spaces.model.articles import shown_kind
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.numbers import seconds_given
from spaces.model.registry import PluginError
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import few_lines
from spaces.tuning.fitted_models import load_model
from spaces.tuning.identity import this_machine
from spaces.tuning.known_schedules import list_known_schedules
from spaces.tuning.store import StudyKey, TuningStore
from spaces.tuning.strategies import tuning_strategy
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.top_ranked import rank_by_search
from spaces.tuning.trial import Proposal, Trial, fastest

Callback: TypeAlias = Callable[["Study", Trial], None]
"""Called after each result."""

log = logging.getLogger("spaces.tuning")

REFERENCE = "reference"
"""The source of the schedule that runs beside all others."""

START = "start"
"""The source of schedules that the user gives."""

KEPT = "kept"
"""The source of schedules that were fast elsewhere."""

SEARCHING = 30.0
"""The most seconds in which a new study finds the schedule that runs beside all others."""

MOST_SEED = 2**63 - 1
"""The largest seed that a store keeps."""

WARM = 4
"""How many schedules of earlier studies a new one begins with."""

_SHOWN = 5
"""A card in a notebook shows so many trials, the fastest ones."""


class BusyStudyError(RuntimeError):
    """Another process tunes the study; ``str`` gives a sentence."""


@define(repr=False)
class Study:
    """The tuning of one pipeline at one size on one machine. A context manager.

    Every trial is in the store before it is measured, and its result right after. So a study may
    be stopped or killed at any moment: opened again, it goes on with the trials that have no
    result, and measures nothing twice.

    Attributes:
        space: the space of schedules. store: the store. id: the number of the study in the store.
        reference: the schedule that runs beside all others. It should be about as fast as these,
        for
            a slow one takes most of the time.
        model: the cost model.
        strategy: what proposes schedules.
        seed: the seed of random choices.

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
    _trials: list[Trial] = field(repr=False)

    def __str__(self) -> str:
        told = [trial for trial in self if trial.result is not None]
        head = f"{self!r}, in {self.store.path}"
        lines = [f"trial {one.number} ({one.proposal.source}): {one.result}" for one in told]
        best = self.best
        if best is not None:
            lines = [f"fastest: trial {best.number} ({best.proposal.source}), {best.result}"]
            lines += str(best.schedule).splitlines()
        return few_lines([head, *lines])

    def _repr_html_(self) -> str:
        about = f"{self.space.pipeline.name} for {self.space.device.name}"
        best = fastest(self._trials)[:_SHOWN]
        rows = [(t.number, t.proposal.source, t.ratio, share_bar(1 / t.ratio)) for t in best]
        told = table(("trial", "from", "time / reference", ""), rows) if rows else None
        done = sum(trial.result is not None for trial in self._trials)
        many = f"{about}: {done} of {amount(len(self._trials), 'trial')} measured"
        schedule = listing(str(best[0].schedule)) if best else None
        return card(f"Study {self.id}", many, told, schedule)

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
    ) -> Study:
        """The study of a space, as the store has it; a new one if it has none.

        A new study begins with the reference, the schedules of ``start``, such as one by hand, and
        the fastest ones of earlier studies of the same pipeline at other sizes or on other
        machines.

        Args:
            store: the store.
            space: the space.
            model: the name of a cost model; by default :func:`default_model`.
            strategy: what proposes schedules, or its name; by default :class:`Evolving`.
            start: legal schedules to measure first.
            seed: the seed of random choices.
            reference: a legal schedule to run beside all others; by default the one that a
                search by the model finds.
            searching: the most seconds for a new study to find it.

        Raises:
            BusyStudyError: another process tunes this study.
            ValueError: a schedule of ``start`` or the reference is illegal, the space has a
                Python restriction, or the seed is too large.
            EmptySpaceError: no simple schedule of the space is legal.
            UnknownTuningStrategyError: no strategy has this name.
        """
        if not 0 <= seed <= MOST_SEED:
            raise ValueError(f"The seed is {seed}; it is a whole number from 0 to {MOST_SEED}.")
        chosen = tuning_strategy(strategy)
        model = model or default_model(space.device)
        made = load_model(model, space.device, store)
        key = StudyKey(
            space.pipeline,
            this_machine(space.device),
            space.device.name,
            space.fingerprint,
            model,
            repr(chosen),
            seed,
            reference,
            _prices_text(made),
        )
        id = store.find_study(key)
        if id is None:
            begun = reference or _search_schedule(space, made, searching)
            _check(space, begun)
            id = store.open_study(key, begun)
        other = store.claim_study(id)
        if other is not None:
            raise BusyStudyError(
                f"{other} tunes study {id} of {store.path} now; wait for it, or give another seed."
            )
        beside = store.reference_of(id)
        study = Study(space, store, id, beside, made, chosen, seed, store.trials(id))
        log.info("study %d of %s has %d trials", id, store.path, len(study._trials))
        if not study._trials:
            study._begin(start)
        return study

    def _begin(self, start: Sequence[Schedule]) -> None:
        first = [Proposal(self.reference, REFERENCE)]
        for schedule in start:
            _check(self.space, schedule)
            first.append(Proposal(schedule, START))
        kept = (Proposal(schedule, KEPT) for schedule in self._kept_elsewhere())
        self._propose([*first, *kept])

    def _kept_elsewhere(self) -> Iterator[Schedule]:
        """The fastest schedules of other studies of this pipeline that are legal here."""
        found = list_known_schedules(self.store, self.space.pipeline, self.space.device)
        others = dict.fromkeys(trial.schedule for study, trial in found if study != self.id)
        yield from islice(filter(self.space.verdict, others), WARM)

    def _propose(self, proposals: Sequence[Proposal]) -> None:
        self._trials += self.store.propose(self.id, self.space.pipeline, proposals)

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
        """The trials so far, in order."""
        return iter(self.trials)

    @property
    def open_trials(self) -> tuple[Trial, ...]:
        """The trials without a result."""
        return tuple(trial for trial in self._trials if trial.result is None)

    @property
    def best(self) -> Trial | None:
        """The fastest trial; None as long as none has times."""
        return next(iter(fastest(self._trials)), None)

    def ask(self, count: int = 1) -> list[Trial]:
        """Trials to measure: first those that have no result yet. The strategy proposes a new
        generation only after all results of the last one, so there may be fewer than ``count``.
        If it proposes nothing more, the list is empty.
        """
        waiting = self.open_trials
        if not waiting:
            proposals = self._generation()
            log.debug("study %d: %d more proposals", self.id, len(proposals))
            self._propose(proposals)
            waiting = self.open_trials
        return list(waiting[:count])

    def _generation(self) -> list[Proposal]:
        """The next proposals of the strategy.

        Raises:
            PluginError: it proposes something else.
        """
        made: object = self.strategy.generation(self.space, self.model, self.trials, self.seed)
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
        self.store.tell(self.id, trial.number, result)
        told = evolve(trial, result=result)
        self._trials[trial.number] = told
        return told

    def run(
        self,
        measurer: Measurer,
        *,
        seconds: float | None = None,
        trials: int | None = None,
        batch: int = 6,
        callbacks: Iterable[Callback] = (),
    ) -> Trial | None:
        """Asks, measures and tells until the time is over or the study has so many results.

        Args:
            measurer: what measures; its reference should be :attr:`reference`.
            seconds: the time limit; None for none. A batch that is being measured is finished,
                and is made as small as fits.
            trials: the number of results at which to stop; None for no limit.
            batch: how many schedules are measured together.
            callbacks: functions of the study and a trial, called after each result.

        Returns:
            The fastest trial; None if none has times.
        """
        listeners = tuple(callbacks)
        deadline = Deadline.after(
            None if seconds is None else seconds_given("run(seconds)", seconds)
        )
        pace = 0.0  # seconds that measuring one schedule took
        while True:
            told = sum(trial.result is not None for trial in self._trials)
            wanted = batch if trials is None else min(batch, trials - told)
            if pace and deadline.left < math.inf:
                wanted = min(wanted, int(deadline.left / pace))
            if wanted < 1 or deadline.is_past:
                break
            try:
                with deadline.kept():
                    asked = self.ask(wanted)
            except OutOfTime:
                break
            if not asked:
                break
            begun = time.monotonic()
            try:
                with deadline.kept():  # measurers of the library time fewer rounds then
                    results = measurer.measure(self.space.pipeline, [one.schedule for one in asked])
            except OutOfTime:
                break
            pace = (time.monotonic() - begun) / len(asked)
            for trial, result in zip(asked, results, strict=True):
                known = self.tell(trial, result)
                for call in listeners:
                    call(self, known)
        return self.best

    def close(self) -> None:
        """Lets other processes tune the study."""
        self.store.release_study(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_trusted_schedule(space: ScheduleSpace) -> Schedule:
    """The first legal one of a fixed list of simple schedules. All others must give its results.

    Raises:
        EmptySpaceError: none is legal.
    """
    for choice in UNIFORM_CHOICES:
        schedule = fill_schedule(space.of_patterns.start(), {}, choice)
        if space.verdict(schedule):
            return schedule
    raise EmptySpaceError(
        f"No simple schedule of {space.pipeline.name} is legal on {space.device.name}, so there is "
        "none to compare others with; give the study a reference."
    )


def _prices_text(model: CostModel) -> str:
    """A text that is equal for equal prices of a model, and equal terms that it leaves out; empty
    for a model without prices.
    """
    if not isinstance(model, Reuse):
        return ""
    return str(model.prices) + "".join(f", without {term}" for term in sorted(model.left_out))


def _search_schedule(space: ScheduleSpace, model: CostModel, seconds: float) -> Schedule:
    """The schedule that a search by the model ranks first; the trusted one if it finds none."""
    found = rank_by_search(space, model, None, Limits(top=1, seconds=seconds))
    return found[0].schedule if found else find_trusted_schedule(space)


def _check(space: ScheduleSpace, schedule: Schedule) -> None:
    """Raises:
    ValueError: a schedule that a study begins with is illegal.
    """
    verdict = space.verdict(schedule)
    if not verdict:
        raise ValueError(f"A schedule to start with is illegal.\n{verdict}")
