"""Fits the prices of the cost model ``reuse`` to the measured schedules.

``python -m bench fit`` fits to the apps, random pipelines and the pipelines of the gallery that are
there to learn from. It does so several times with other weights. The pipelines that are there to
choose by say which fit is taken. ``spaces/cost/cpu/prices.toml``, or the file of ``--into``, gets
its prices, and says from what they come. ``--only PRICE``, which may be given again, fits these
prices and keeps all others, such as for a new term. Pipelines that only judge are not read. Nothing
is measured: whether a search finds faster schedules by these prices, ``python -m bench first
--prices FILE`` tells.
"""

from __future__ import annotations

import argparse
import statistics
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path

from attrs import asdict, evolve, frozen

from bench.cost_quality.measured_sets import Measured, MeasuredSet, by_pipeline, measured_files
from bench.cost_quality.pricing import Timed, common_device
from bench.cost_quality.scores import regret, spearman
from bench.cost_quality.split import refuse_judged
from spaces.apps.files import write_text
from spaces.constraints.devices.device import CpuDevice
from spaces.cost.batch import Batch
from spaces.cost.cpu.price_fit import fit_prices
from spaces.cost.cpu.prices import FILE, Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.training import PricedRun
from spaces.features.extraction import FeatureMemo
from spaces.model.formulas.symbolic import SymbolicNumber

LEARNED_FROM = (MeasuredSet.APPS, MeasuredSet.RANDOM, MeasuredSet.SINGLE, MeasuredSet.LEARN)
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
    parser = argparse.ArgumentParser(prog="python -m bench fit", description=__doc__)
    parser.add_argument("--into", type=Path, default=FILE, metavar="FILE")
    parser.add_argument(
        "--only",
        action="append",
        choices=tuple(asdict(Prices())),
        metavar="PRICE",
        help="fit this price, and keep the others; may be given again",
    )
    options = parser.parse_args(arguments)
    path, only = options.into, options.only or ()
    measured = by_pipeline(measured_files())
    learned = runs_of(measured, LEARNED_FROM)
    choosing = runs_of(measured, [MeasuredSet.CHOOSE])
    devices = {name: common_device(of) for (_, name), of in measured.items()}
    print("as they are: " + shown(*judge(Prices(), choosing, devices)))
    found = [fit(learned, choosing, devices, emphasis, only) for emphasis in EMPHASES]
    for one in found:
        print(f"emphasis {one.emphasis}: {shown(one.spearman, one.regret)}")
    chosen = max(found, key=lambda one: one.spearman)
    write_text(path, as_toml(chosen, learned, only))


Runs = Mapping[str, Sequence[PricedRun]]
"""The runs of each pipeline."""

Devices = Mapping[str, CpuDevice]
"""The processor that the runs of each pipeline are from."""


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


def fit(
    learned: Runs,
    choosing: Runs,
    devices: Devices,
    emphasis: float,
    only: Collection[str] = (),
) -> Fit:
    """Prices that fit some pipelines, judged by others. Runs of several processors have the same
    prices, but each is priced with the caches and vectors of its own. With names in ``only``, all
    prices but these stay.
    """
    runs = [run for of in learned.values() for run in weighted(of, emphasis)]

    def price(prices: Prices, run: PricedRun) -> SymbolicNumber:
        return Reuse(devices[run.kernel], prices).price(run.batch.features)

    prices = fit_prices(runs, Prices(), price, only)
    return Fit(emphasis, prices, *judge(prices, choosing, devices))


def weighted(runs: Sequence[PricedRun], emphasis: float) -> list[PricedRun]:
    """The runs of a pipeline with weights by their speed; together they weigh 1, as those of any
    other pipeline.
    """
    weights = [run.seconds**-emphasis for run in runs]
    return [evolve(run, weight=one / sum(weights)) for run, one in zip(runs, weights, strict=True)]


def judge(prices: Prices, runs: Runs, devices: Devices) -> tuple[float, float]:
    """The mean correlation and the mean regret over some pipelines."""
    scores = (score(Reuse(devices[name], prices), of) for name, of in runs.items())
    correlations, regrets = zip(*scores, strict=True)
    return statistics.fmean(correlations), statistics.fmean(regrets)


def shown(correlation: float, lost: float) -> str:
    """Both as text."""
    return f"Spearman {correlation:.3f}, regret {lost:.1%}"


def score(model: Reuse, runs: Sequence[PricedRun]) -> tuple[float, float]:
    """The correlation of costs and times, and the regret of the cheapest schedule."""
    costs = [float(model.cost(run.batch)) for run in runs]
    times = [run.seconds for run in runs]
    return spearman(costs, times), regret(costs, times, top=1)


def as_toml(chosen: Fit, learned: Runs, only: Collection[str] = ()) -> str:
    """The prices as a file: all, or those of ``only``, and then the ones that were in the file of
    the library.
    """
    names = {*only, *tomllib.loads(FILE.read_text("utf-8"))} if only else asdict(chosen.prices)
    runs = sum(len(of) for of in learned.values())
    rows = [
        f"{name} = {cycles:.4g}" for name, cycles in asdict(chosen.prices).items() if name in names
    ]
    return (
        f"# Made by `python -m bench fit` from {runs:,} measured schedules of {len(learned)} "
        f"pipelines\n# (bench/results/cost_quality); emphasis {chosen.emphasis:g}.\n"
        "# Cycles of one core; only their proportions matter. A price that is not here has those\n"
        "# of its term.\n\n" + "\n".join(rows) + "\n"
    )
