"""Opens studies: finds the one that a store has, or makes a new one and what it begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from attrs import frozen

from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.conditions import RunConditions
from spaces.cost.model import CostModel
from spaces.cost.registry import default_model
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.first_trials import (
    check_start,
    each_once,
    find_trusted_schedule,
    may_stand_in,
    prices_text,
)
from spaces.tuning.fitted_models import load_model
from spaces.tuning.identity import TuningMachine, this_machine
from spaces.tuning.known_schedules import list_known_schedules
from spaces.tuning.opening_search import OpeningSearch
from spaces.tuning.sources import KEPT, REFERENCE, START
from spaces.tuning.store import StudyKey, TuningStore
from spaces.tuning.strategies import tuning_strategy
from spaces.tuning.strategy import SearchingStrategy, TuningStrategy
from spaces.tuning.trial import Proposal
from spaces.tuning.trial_log import TrialLog

SEARCHING = 30.0
"""The most seconds in which a new study finds the schedule that runs beside all others."""

MOST_SEED = 2**63 - 1
"""The largest seed that a store keeps."""

WARM = 4
"""How many schedules of earlier studies a new one begins with."""


class BusyStudyError(RuntimeError):
    """Another process tunes the study; ``str`` gives a sentence."""


@frozen
class OpenedStudy:
    """A study that this process may tune.

    Attributes:
        id: its number in the store.
        model: its cost model.
        strategy: what proposes schedules.
        trials: its trials; none if it is new.
        opening: its search; None once that is over.
        beside: the schedule that runs beside all others.
        ratio: the time of this schedule divided by that of the reference of the study.
    """

    id: int
    model: CostModel
    strategy: TuningStrategy
    trials: TrialLog
    opening: OpeningSearch | None
    beside: Schedule
    ratio: float


def open_study(
    store: TuningStore,
    space: ScheduleSpace,
    *,
    model: str,
    strategy: str | TuningStrategy | None,
    seed: int,
    reference: Schedule | None,
    searching: float,
    threads: int | None,
    float_mode: FloatMode,
    conditions: RunConditions,
    machine: TuningMachine | None,
    look: Callable[[], None],
) -> OpenedStudy:
    """Opens the study of a space for this process; a new one is kept in the store.

    The arguments and errors are those of :meth:`Study.open`.
    """
    if not 0 <= seed <= MOST_SEED:
        raise ValueError(f"The seed is {seed}; it is a whole number from 0 to {MOST_SEED}.")
    chosen = tuning_strategy(strategy)
    model = model or default_model(space.device)
    made = load_model(model, space.device, store)
    key = StudyKey(
        space.pipeline,
        machine or this_machine(space.device),
        space.device.name,
        space.fingerprint,
        model,
        repr(chosen),
        seed,
        reference,
        prices_text(made),
        threads or conditions.core_count or 0,
        float_mode,
        conditions.text,
    )
    id = store.find_study(key)
    opening: OpeningSearch | None = None
    if id is None:
        opening = OpeningSearch.begin(space, made, chosen, seed)
        if reference is None or isinstance(chosen, SearchingStrategy):
            opening.advance(searching, look)
        begun = reference or opening.best or find_trusted_schedule(space)
        check_start(space, begun)
        id = store.open_study(key, begun)
    other = store.claim_study(id)
    if other is not None:
        raise BusyStudyError(
            f"{other} tunes study {id} of {store.path} now; wait for it, or give another seed."
        )
    trials = TrialLog(store, id)
    if opening is None:
        kept = store.search_of(id)
        opening = OpeningSearch.go_on(space, made, chosen, seed, trials, kept)
        if opening is not None and kept is None:  # an earlier process ended before it searched
            opening.advance(searching, look)
    beside, ratio = store.reference_of(id), 1.0
    if reference is None and trials.best is not None and may_stand_in(trials.best):
        beside, ratio = trials.best.schedule, trials.best.ratio
    return OpenedStudy(id, made, chosen, trials, opening, beside, ratio)


def first_proposals(
    opened: OpenedStudy, store: TuningStore, space: ScheduleSpace, start: Sequence[Schedule]
) -> list[Proposal]:
    """What a new study measures first: its reference, the schedules of ``start``, the fastest ones
    of earlier studies, and what its search has found.

    Raises:
        ValueError: a schedule of ``start`` is illegal.
    """
    first = [Proposal(opened.beside, REFERENCE)]
    for schedule in start:
        check_start(space, schedule)
        first.append(Proposal(schedule, START))
    first += (Proposal(one, KEPT) for one in _kept_elsewhere(store, space, opened.id))
    if opened.opening is not None and isinstance(opened.strategy, SearchingStrategy):
        first += opened.opening.proposals()
    return first


def _kept_elsewhere(store: TuningStore, space: ScheduleSpace, id: int) -> Iterator[Schedule]:
    """The fastest schedules of other studies of this pipeline that are legal here."""
    found = list_known_schedules(store, space.pipeline, space.device)
    others = (trial.schedule for study, trial in found if study != id)
    yield from islice(filter(space.verdict, each_once(others)), WARM)
