"""Fits the prices of the cost model ``reuse`` to a machine, by measured times.

The fit (``Reuse.retrain``) reads random legal schedules of a few small pipelines.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.rounds import EVERY_ROUND
from spaces.backend.measuring.task import MeasuringLimits
from spaces.constraints.devices.device import CpuDevice
from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.measurer import Measurer
from spaces.cost.training import PricedRun
from spaces.enumerate.space.counting.draws import sample
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.first_trials import find_trusted_schedule
from spaces.tuning.kernels import KERNELS

MARGIN = 0.02
"""The rank correlation must rise by at least this much for fitted prices to replace the defaults.
"""

LEAST = 8
"""A pipeline counts if at least this many of its schedules have times."""


@frozen
class Calibration:
    """Prices fitted to a machine, and how well they rank schedules that the fit did not see.

    Attributes:
        prices: the prices to use: the fitted ones if they rank better, else the defaults.
        fitted: the prices of the fit.
        before: Spearman's rank correlation of costs and times, with the default prices, for the
            schedules that the fit did not see; the median over pipelines.
        after: the same with the fitted prices.
        schedules: the number of schedules with times.
    """

    prices: Prices
    fitted: Prices
    before: float
    after: float
    schedules: int

    @property
    def is_better(self) -> bool:
        """Whether the fitted prices rank clearly better than the defaults."""
        return self.after >= self.before + MARGIN


def calibrate(
    device: CpuDevice,
    *,
    schedules: int = 24,
    seed: int = 0,
    measurer: Callable[[Schedule], Measurer] | None = None,
    progress: Callable[[str, int], None] = lambda kernel, count: None,
) -> Calibration:
    """Measures random schedules of small pipelines on this machine, and fits the prices.

    Args:
        device: the CPU of this machine.
        schedules: how many schedules of each pipeline are measured.
        seed: the seed of the random schedules.
        measurer: makes a measurer from the trusted schedule; by default a :class:`LocalMeasurer`.
        progress: called with the name of each pipeline and the number of schedules measured before.

    Raises:
        MeasuringError: nothing can be measured.
        ValueError: too few schedules have times.
    """
    runs: list[PricedRun] = []
    for kernel in KERNELS:
        progress(kernel.__name__, len(runs))
        runs += measure_random_schedules(kernel(), device, schedules, seed, measurer or _local)
    return fit_and_judge(runs, device)


def _local(reference: Schedule) -> LocalMeasurer:
    limits = MeasuringLimits(rounds=5, run_seconds=5.0)
    return LocalMeasurer(reference=reference, limits=limits, race=EVERY_ROUND)


def measure_random_schedules(
    pipeline: Pipeline,
    device: CpuDevice,
    count: int,
    seed: int,
    measurer: Callable[[Schedule], Measurer],
) -> list[PricedRun]:
    """Times of random legal schedules of a pipeline: half of them of whole patterns."""
    schedules: dict[Schedule, None] = {}
    for options in (Options.small(device), Options.expert(device)):
        space = ScheduleSpace(pipeline, device, options)
        try:
            schedules |= dict.fromkeys(sample(space, count // 2, seed, seconds=20.0))
        except (EmptySpaceError, TimeoutError):
            continue
    made = measurer(find_trusted_schedule(ScheduleSpace(pipeline, device)))
    try:
        results = made.measure(pipeline, list(schedules))
    finally:
        if isinstance(made, LocalMeasurer):
            made.close()
    found = []
    for result in results:
        if result.is_correct and result.seconds:
            reference = statistics.median(result.reference_seconds)
            batch = Batch.of(pipeline, result.schedule)
            found.append(PricedRun(pipeline.name, batch, result.ratio * reference))
    return found


def fit_and_judge(runs: Sequence[PricedRun], device: CpuDevice) -> Calibration:
    """Fits prices to every second run of each pipeline, and judges them by the others.

    Raises:
        ValueError: no pipeline has enough runs.
    """
    kernels = {run.kernel for run in runs}
    kept = [name for name in sorted(kernels) if sum(r.kernel == name for r in runs) >= LEAST]
    if not kept:
        raise ValueError(
            f"Only {len(runs)} schedules have times; a fit needs {LEAST} of one pipeline."
        )
    seen: list[PricedRun] = []
    unseen: list[PricedRun] = []
    for name in kept:
        own = [run for run in runs if run.kernel == name]
        seen += own[::2]
        unseen += own[1::2]
    found = Reuse(device).retrain(seen).prices
    before, after = (rank_quality(unseen, device, prices) for prices in (Prices(), found))
    judged = Calibration(found, found, before, after, len(runs))
    return judged if judged.is_better else attrs.evolve(judged, prices=Prices())


def rank_quality(runs: Sequence[PricedRun], device: CpuDevice, prices: Prices) -> float:
    """The median over pipelines of Spearman's rank correlation of costs and times."""
    model = Reuse(device, prices)
    found = []
    for name in {run.kernel for run in runs}:
        own = [run for run in runs if run.kernel == name]
        costs = [float(model.cost(run.batch)) for run in own]
        found.append(spearman(costs, [run.seconds for run in own]))
    return statistics.median(found)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation of two lists: 1 for the same order; 0 if one is constant."""
    a, b = _ranks(first), _ranks(second)
    spread = float(a.std() * b.std())
    return float(((a - a.mean()) * (b - b.mean())).mean()) / spread if spread else 0.0


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """The places of values in order; equal ones share the mean of theirs."""
    array = np.asarray(values, dtype=np.float64)
    ranks = (array[:, None] > array).sum(1) + ((array[:, None] == array).sum(1) - 1) / 2
    return np.asarray(ranks, dtype=np.float64)
