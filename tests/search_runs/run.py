"""One random search: what is drawn, and whether the search keeps its promises."""

from __future__ import annotations

import hashlib
import itertools
import random
import time
import traceback
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device, device
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.model import CostFunction
from spaces.enumerate.search.events import Done, Event, Found, Improved
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import Strategy, strategy_names
from spaces.enumerate.search.search import search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.deadline import Deadline
from spaces.model.writing.text import format_schedule
from tests.cpus import FOUR_CORES
from tests.differential.pipelines import KINDS
from tests.differential.subjects import COMPOSED, EXACT, subject

PRESETS: dict[str, Callable[[Device], Options]] = {
    "small": Options.small,
    "medium": Options.medium,
    "expert": Options.expert,
    "everything": Options.everything,
}

STRATEGIES = tuple(
    name for name in strategy_names() if name != "optuna" or find_spec("optuna") is not None
)
"""The strategies of the library that can run here, before any test registers one."""

CPU_ONLY = ("reuse-analysis",)
"""Strategies that refuse GPUs with a sentence."""

LATE = 0.5
"""The seconds by which a search may miss its time limit."""

ENDLESS = 6.0
"""The seconds after which a search without a time limit is stopped. Then nothing is said about its
stream.
"""


@frozen
class SearchRun:
    """One search, drawn at random.

    Attributes:
        seed: the seed of a series of runs.
        number: the place of the run in the series.
        pipeline: a small pipeline with estimates.
        target: the device.
        preset: the name of the options.
        strategy: the strategy or its name.
        model: the name of a cost model, or ``luck`` for random costs.
        limits: when it ends.
    """

    seed: int
    number: int
    pipeline: Pipeline = field(repr=False)
    target: str
    preset: str
    strategy: str | Strategy
    model: str
    limits: Limits

    def space(self) -> ScheduleSpace:
        """The space, without anything that a search has left behind.

        Raises:
            EmptySpaceError: no schedule is legal.
        """
        on = FOUR_CORES if self.target == "cpu" else device(self.target)
        return ScheduleSpace(self.pipeline, on, PRESETS[self.preset](on))

    def cost(self) -> str | CostFunction:
        """The cost model."""
        return luck(self.seed) if self.model == "luck" else self.model


@frozen
class RunReport:
    """What became of a run.

    Attributes:
        run: the run.
        faults: the broken promises, as sentences; none if all is well.
        structures: the number of structures with a cost; -1 without an end.
        is_empty: whether the search says that it finds nothing legal.
        is_cut: whether it was stopped after :data:`ENDLESS` seconds.
        late: the seconds after its time limit; 0 without one.
    """

    run: SearchRun
    faults: tuple[str, ...] = ()
    structures: int = -1
    is_empty: bool = False
    is_cut: bool = False
    late: float = 0.0


def drawn(seed: int, number: int, strategy: str = "") -> SearchRun:
    """The run of this number: of a strategy, or of a random one."""
    rng = random.Random(f"search {seed} {number}")
    kind = rng.choice((COMPOSED, *sorted(KINDS)))
    one = subject(rng, kind)
    boxes = {**one.outputs[EXACT], **one.places}
    estimates = tuple(Estimate(name, box) for name, box in boxes.items())
    target = rng.choice(("cpu", "cpu", "sm_80"))
    target = "cpu" if strategy in CPU_ONLY else target
    known = [name for name in STRATEGIES if target == "cpu" or name not in CPU_ONLY]
    chosen = rng.choice(known)
    of_device = "reuse" if target == "cpu" else "occupancy"
    return SearchRun(
        seed=seed,
        number=number,
        pipeline=evolve(one.pipeline, estimates=estimates),
        target=target,
        preset=rng.choice(sorted(PRESETS)),
        strategy=strategy or chosen,
        model=rng.choice((of_device, of_device, "weighted", "luck")),
        limits=Limits(
            top=rng.choice((1, 1, 2, 5)),
            apart=rng.choice((1, 1, 2)),
            seconds=rng.choice((None, None, None, 0.0, 0.2)),
            structures=rng.choice((1, 3, 10, 25)),
            seed=rng.randrange(1000),
        ),
    )


def luck(seed: int) -> CostFunction:
    """A cost model that knows nothing: a random cost for each structure and choice. A few have
    none, and a few costs are negative.
    """

    def cost(batch: Batch) -> NDArray[np.float64]:
        text = f"{seed} {batch.schedule}".encode()
        digest = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
        costs = np.random.default_rng(digest).normal(10.0, 5.0, np.shape(batch.full(0.0)))
        return np.where(costs > 22.0, np.nan, costs)

    return cost


def checked(run: SearchRun) -> RunReport:
    """Searches, and again with the same seed if no clock decides, and checks all promises."""
    try:
        space = run.space()
        began = time.monotonic()
        endless = Deadline.after(ENDLESS if run.limits.seconds is None else None)
        with endless.kept():
            events = list(search(space, run.cost(), run.strategy, run.limits))
        took, is_cut = time.monotonic() - began, endless.is_past
        faults = tuple(_faults(run, space, events))
        if run.limits.seconds is None and not is_cut and not faults:
            again = list(search(run.space(), run.cost(), run.strategy, run.limits))
            faults = () if again == events else ("The same seed gives another stream.",)
        last = events[-1] if events else None
        late = 0.0 if run.limits.seconds is None else max(0.0, took - run.limits.seconds)
        structures = last.structures if isinstance(last, Done) else -1
        return RunReport(run, faults, structures, is_cut=is_cut, late=late)
    except EmptySpaceError:
        return RunReport(run, is_empty=True)
    except Exception:
        return RunReport(run, (traceback.format_exc(),))


def _faults(run: SearchRun, space: ScheduleSpace, events: list[Event]) -> list[str]:
    """The broken promises of a stream of events."""
    faults = []
    if not events or not isinstance(events[-1], Done):
        return ["It does not end with Done."]
    *running, done = events
    if any(isinstance(event, Done) for event in running):
        faults.append("Done comes twice.")
    improved = [event.best for event in running if isinstance(event, Improved)]
    costs = [found.cost for found in improved]
    if any(later >= earlier for earlier, later in itertools.pairwise(costs)):
        faults.append(f"An improvement is none: {costs}.")
    if not done.best or [found.cost for found in done.best] != sorted(f.cost for f in done.best):
        faults.append("The best are not in the order of their costs.")
    elif not improved or improved[-1].cost != done.best[0].cost:
        faults.append(f"The best costs {done.best[0].cost}, and improvements {costs}.")
    if run.limits.structures is not None and done.structures > run.limits.structures:
        faults.append(f"It prices {done.structures} structures.")
    if len(done.best) > run.limits.top:
        faults.append(f"It returns {len(done.best)} schedules.")
    for found in dict.fromkeys((*improved, *done.best)):
        faults += _illegal(run, space, found)
    return faults


def _illegal(run: SearchRun, space: ScheduleSpace, found: Found) -> list[str]:
    """Why a schedule that a search found is illegal."""
    verdicts = (verify(run.pipeline, found.schedule, space.device), space.verdict(found.schedule))
    broken = [verdict for verdict in verdicts if not verdict]
    shown = format_schedule(found.schedule, run.pipeline) if broken else ""
    return [f"It finds an illegal schedule.\n{shown}\n{verdict}" for verdict in broken]
