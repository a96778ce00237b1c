"""Fits the prices of the cost model ``reuse`` to the measured schedules.

``python -m bench fit`` fits to the apps, random pipelines and the pipelines of the gallery that are
there to learn from, several times with other weights; the pipelines that are there to choose say
which fit is taken. ``spaces/cost/cpu/prices.toml`` gets its prices, and says from what they come.
Pipelines that only judge are not read. Nothing is measured.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from attrs import asdict, evolve, frozen

from bench.cost_quality.measured_sets import Measured, MeasuredSet, by_pipeline, measured_files
from bench.cost_quality.pricing import Timed
from bench.cost_quality.scores import regret, spearman
from bench.cost_quality.split import refuse_judged
from spaces.apps.files import write_text
from spaces.constraints.devices.device import device
from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import FILE, Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.features.extraction import FeatureMemo
from spaces.cost.training import PricedRun

LEARNED_FROM = (MeasuredSet.APPS, MeasuredSet.RANDOM, MeasuredSet.LEARN)
"""The sets that prices are fitted to."""

EMPHASES = (0.0, 0.5, 1.0)
"""The weight of a schedule is its speed to one of these powers: at 0 all schedules of a pipeline
count the same, at 1 one twice as fast counts twice.
"""


@frozen
class Fit:
    """Prices, and how well they rank the pipelines that choose.

    Attributes:
        emphasis: one of :data:`EMPHASES`.
        spearman: the mean correlation of costs and times over the pipelines that choose.
        regret: by how much the cheapest schedule is slower than the fastest; the mean over them.
    """

    emphasis: float
    prices: Prices
    spearman: float
    regret: float


def main(arguments: list[str]) -> None:
    """Fits, chooses, prints the choices and writes the file."""
    argparse.ArgumentParser(prog="python -m bench fit", description=__doc__).parse_args(arguments)
    measured = by_pipeline(measured_files())
    learned = runs_of(measured, LEARNED_FROM)
    choosing = runs_of(measured, [MeasuredSet.CHOOSE])
    found = [fit(learned, choosing, emphasis) for emphasis in EMPHASES]
    for one in found:
        print(f"emphasis {one.emphasis}: Spearman {one.spearman:.3f}, regret {one.regret:.1%}")
    chosen = max(found, key=lambda one: one.spearman)
    write_text(FILE, as_toml(chosen, learned))


Runs = Mapping[str, Sequence[PricedRun]]
"""The runs of each pipeline."""


def runs_of(measured: Measured, sets: Iterable[MeasuredSet]) -> Runs:
    """The schedules of some sets that ended, with their features.

    Raises:
        JudgedPipelineError: the sets have pipelines that only judge.
    """
    wanted = set(sets)
    subjects = {name: of for (kind, name), of in measured.items() if kind in wanted}
    refuse_judged(subjects)
    return {name: _runs(of) for name, of in subjects.items()}


def _runs(found: Sequence[Timed]) -> list[PricedRun]:
    memo = FeatureMemo()
    return [
        PricedRun(one.subject, Batch.of(one.pipeline, one.schedule, memo=memo), one.ratio)
        for one in found
        if isfinite(one.ratio)
    ]


def fit(learned: Runs, choosing: Runs, emphasis: float) -> Fit:
    """Prices that fit some pipelines, judged by others."""
    model = Reuse.of(device("cpu"))
    runs = [run for of in learned.values() for run in weighted(of, emphasis)]
    model = model.retrain(runs)
    scores = [score(model, of) for of in choosing.values()]
    correlations, regrets = zip(*scores, strict=True)
    return Fit(emphasis, model.prices, statistics.fmean(correlations), statistics.fmean(regrets))


def weighted(runs: Sequence[PricedRun], emphasis: float) -> list[PricedRun]:
    """The runs of a pipeline with weights by their speed; together they weigh 1, as those of any
    other pipeline.
    """
    weights = [run.seconds**-emphasis for run in runs]
    return [evolve(run, weight=one / sum(weights)) for run, one in zip(runs, weights, strict=True)]


def score(model: Reuse, runs: Sequence[PricedRun]) -> tuple[float, float]:
    """The correlation of costs and times, and the regret of the cheapest schedule."""
    costs = [float(model.cost(run.batch)) for run in runs]
    times = [run.seconds for run in runs]
    return spearman(costs, times), regret(costs, times, top=1)


def as_toml(chosen: Fit, learned: Runs) -> str:
    """The prices as a file."""
    runs = sum(len(of) for of in learned.values())
    rows = [f"{name} = {cycles:.4g}" for name, cycles in asdict(chosen.prices).items()]
    return (
        f"# Made by `python -m bench fit` from {runs:,} measured schedules of {len(learned)} "
        f"pipelines\n# (bench/results/cost_quality); emphasis {chosen.emphasis:g}.\n"
        "# Cycles of one core; only their proportions matter.\n\n" + "\n".join(rows) + "\n"
    )
