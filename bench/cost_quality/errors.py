"""Fits how far the prices of the cost model ``reuse`` are wrong to the measured schedules.

``python -m bench errors`` fits :class:`~spaces.cost.errors.PriceErrors` to the apps, random
pipelines and the pipelines of the gallery that are there to learn from, and writes
``spaces/cost/cpu/errors.toml``. It first says how likely the measured times are in pipelines that
the fit left out. It says so for a price of one part, with a part for each cause, and with all
parts, and for schedules that share no error. Pipelines that only judge are not read. Nothing is
measured.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, lgamma

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bench.cost_quality.fit import LEARNED_FROM
from bench.cost_quality.measured_sets import Measured, MeasuredSet, by_pipeline, measured_files
from bench.cost_quality.pricing import Timed, common_device
from bench.cost_quality.split import refuse_judged
from spaces.apps.files import write_text
from spaces.cost.batch import Batch
from spaces.cost.cpu.fitted_errors import FILE
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.errors import PriceErrors, PriceParts
from spaces.cost.price import read_parts
from spaces.features.extraction import FeatureMemo

NEAR = 3.0
"""A schedule counts if it costs at most this many times as much as the cheapest of its pipeline:
how wrong the prices of others are, matters for no choice.
"""

MOST = 40
"""Of this many schedules of a pipeline, drawn at random, the errors are read."""

FOLDS = 3
"""Into this many groups of pipelines the ones to learn from are divided."""

START = (math.log(0.5), math.log(0.5), math.log(0.1), math.log(3.0))
"""The logarithms of the numbers of a fit before its first step."""

STEPS = (0.5, 0.2, 0.08, 0.03)
"""By how much a logarithm changes at once, one size after the other."""

LEAST_GAIN = 0.01
"""A step must make the log likelihood larger by so much."""


@frozen(eq=False)
class Errors:
    """The errors of the prices of some schedules of a pipeline.

    Attributes:
        prices: the parts of their prices.
        logs: the logarithms of time over price.
    """

    prices: Sequence[PriceParts]
    logs: NDArray[np.float64]

    def differences(self) -> NDArray[np.float64]:
        """Orthonormal columns that leave out what all errors share."""
        count = len(self.logs)
        with_mean = np.column_stack([np.ones(count), np.eye(count)[:, 1:]])
        columns: NDArray[np.float64] = np.linalg.qr(with_mean)[0][:, 1:]
        return columns


Grouping = Callable[[PriceParts, int], PriceParts]
"""The parts that count, from those of a price and the number of its schedule."""


def _alone(parts: PriceParts, number: int) -> PriceParts:
    return {("", number, ""): sum(parts.values())}


def _whole(parts: PriceParts, number: int) -> PriceParts:
    return {("", 0, ""): sum(parts.values())}


def _by_cause(parts: PriceParts, number: int) -> PriceParts:
    found: dict[tuple[str, int, str], float] = {}
    for (_, _, what), cost in parts.items():
        found["", 0, what] = found.get(("", 0, what), 0.0) + cost
    return found


def _all(parts: PriceParts, number: int) -> PriceParts:
    return parts


GROUPINGS: Mapping[str, Grouping] = {
    "each schedule alone": _alone,
    "the price as one part": _whole,
    "a part for each cause": _by_cause,
    "all parts": _all,
}
"""What may have an error of its own; the last one is what :class:`PriceErrors` is used with."""


@frozen
class Fitted:
    """Errors that fit measured times.

    Attributes:
        errors: the fit.
        tail: the degrees of freedom of Student's distribution. Prices of some pipelines are far
            more wrong than those of others; ``errors`` are those of a usual pipeline.
    """

    errors: PriceErrors
    tail: float

    @staticmethod
    def of(logs: Sequence[float]) -> Fitted:
        """From logarithms of the numbers."""
        spread, reach, own, tail = (math.exp(one) for one in logs)
        return Fitted(PriceErrors(spread=spread, reach=reach, own=own), tail)

    def log_likelihood(self, found: Iterable[Errors]) -> float:
        """The logarithm of the density of the differences of errors in some pipelines."""
        return math.fsum(self._of_pipeline(one) for one in found)

    def _of_pipeline(self, found: Errors) -> float:
        differences = found.differences()
        count, tail = len(found.logs) - 1, self.tail
        covariance = differences.T @ self.errors.covariance(found.prices) @ differences
        root = np.linalg.cholesky(covariance)
        scaled = np.linalg.solve(root, differences.T @ found.logs)
        squares = float((scaled * scaled).sum())
        density: float = lgamma((tail + count) / 2) - lgamma(tail / 2)
        density -= count / 2 * math.log(tail * math.pi) + float(np.log(np.diag(root)).sum())
        return density - (tail + count) / 2 * math.log1p(squares / tail)


def main(arguments: list[str]) -> None:
    """Compares, fits, prints and writes the file."""
    if arguments:
        raise SystemExit("python -m bench errors takes no arguments.")
    measured = by_pipeline(measured_files())
    learned = errors_of(measured, LEARNED_FROM)
    choosing = errors_of(measured, [MeasuredSet.CHOOSE])
    for name, grouping in GROUPINGS.items():
        held = held_out(_grouped(learned, grouping))
        once = fit(_grouped(learned, grouping))
        likely = once.log_likelihood(_grouped(choosing, grouping))
        print(f"{name}: held out {held:.1f}, choose {likely:.1f}", flush=True)
    fitted = fit(learned)
    print(f"{fitted.errors}, tail {fitted.tail:.2f}")
    write_text(FILE, as_toml(fitted, learned))


def errors_of(measured: Measured, sets: Iterable[MeasuredSet]) -> list[Errors]:
    """The errors of each pipeline of some sets.

    Raises:
        JudgedPipelineError: the sets have pipelines that only judge.
    """
    wanted = set(sets)
    subjects = {name: of for (kind, name), of in measured.items() if kind in wanted}
    refuse_judged(subjects)
    found = (_errors(of) for of in subjects.values())
    return [one for one in found if len(one.prices) > 1]


def _errors(found: Sequence[Timed]) -> Errors:
    priced = [
        (parts, one.ratio)
        for one, parts in zip(found, parts_of(found), strict=True)
        if isfinite(one.ratio)
    ]
    most = NEAR * min(sum(parts.values()) for parts, _ in priced)
    near = [one for one in priced if sum(one[0].values()) <= most]
    near = random.Random(0).sample(near, min(len(near), MOST))
    logs = [math.log(ratio / sum(parts.values())) for parts, ratio in near]
    return Errors([parts for parts, _ in near], np.array(logs))


def parts_of(found: Sequence[Timed]) -> list[PriceParts]:
    """The parts of the price of each schedule of a pipeline."""
    model, memo = Reuse(common_device(found)), FeatureMemo()
    batches = (Batch.of(one.pipeline, one.schedule, memo=memo) for one in found)
    return [read_parts(model, batch.features) for batch in batches]


def _grouped(found: Iterable[Errors], grouping: Grouping) -> list[Errors]:
    return [
        Errors([grouping(parts, number) for number, parts in enumerate(one.prices)], one.logs)
        for one in found
    ]


def held_out(learned: Sequence[Errors]) -> float:
    """The log likelihood of each pipeline by the fit to others."""
    folds = [learned[place::FOLDS] for place in range(FOLDS)]
    return math.fsum(
        fit([one for other in folds if other is not fold for one in other]).log_likelihood(fold)
        for fold in folds
    )


def fit(learned: Sequence[Errors]) -> Fitted:
    """The errors by which the times are likeliest: each number goes up or down while that helps."""
    here = list(START)
    best = Fitted.of(here).log_likelihood(learned)
    for step in STEPS:
        is_better = True
        while is_better:
            is_better = False
            for place in range(len(here)):
                for move in (step, -step):
                    there = [*here[:place], here[place] + move, *here[place + 1 :]]
                    likely = Fitted.of(there).log_likelihood(learned)
                    if likely > best + LEAST_GAIN:
                        here, best, is_better = there, likely, True
                        break
    return Fitted.of(here)


def as_toml(fitted: Fitted, learned: Sequence[Errors]) -> str:
    """The errors as a file."""
    schedules = sum(len(one.prices) for one in learned)
    errors = fitted.errors
    rows = [f"{name} = {getattr(errors, name):.3g}" for name in ("spread", "reach", "own")]
    return (
        f"# Made by `python -m bench errors` from {schedules:,} measured schedules of "
        f"{len(learned)} pipelines\n# (bench/results/cost_quality). Standard deviations of "
        "logarithms, and a reach on their scale\n# (spaces/cost/errors.py).\n\n"
        + "\n".join(rows)
        + "\n"
    )
