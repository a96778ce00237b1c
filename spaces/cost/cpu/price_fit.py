"""Fits the prices of a cost model to measured times.

The cost of a schedule is a sum: each price times how often the schedule does what it pays for. The
fit (Gauss-Newton) minimises the weighted squared differences of the logarithms of costs and times.
Each pipeline has a factor of its own, since the model ranks schedules of one pipeline. Prices that
the times say little about stay near those at the start (a ridge). Prices stay positive, since the
fit changes their logarithms; a price of 0 stays 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from spaces.cost.training import PricedRun
from spaces.model.deadline import ask_clock
from spaces.model.formulas.symbolic import SymbolicNumber, as_array

PriceRecord = TypeVar("PriceRecord", bound=attrs.AttrsInstance)
"""A record of positive numbers."""

RIDGE = 0.002
"""How strongly prices stay near those at the start, as a weight beside that of one time."""

TYPICAL = 0.25
"""The error of a logarithm that is usual. Far larger ones count little more: they come from what
the model does not describe, and prices cannot mend that.
"""

STEPS = 8
"""Steps of Gauss-Newton."""

LARGEST_STEP = 1.0
"""The most that a step changes the logarithm of a price."""

_SLOPE = 1e-3
"""The step of the logarithm of a price from which a slope is taken."""


def fit_prices(
    runs: Sequence[PricedRun],
    start: PriceRecord,
    price: Callable[[PriceRecord, PricedRun], SymbolicNumber],
    only: Collection[str] = (),
) -> PriceRecord:
    """The prices that fit the times of some runs best.

    Args:
        runs: the runs.
        start: the prices to begin with.
        price: the cost of a run by some prices. The prices may be arrays; then there is one cost
            for each element.
        only: the names of the prices that are fitted, while the others stay; none for all.
    """
    known = attrs.asdict(start)
    fitted = only or known
    positive = {name: known[name] for name in known if name in fitted and known[name] > 0}
    first = np.log(np.array(list(positive.values())))
    times = np.log(np.array([run.seconds for run in runs]))
    weights = np.array([run.weight for run in runs])
    kernels = dict.fromkeys(run.kernel for run in runs)
    groups = [np.array([run.kernel == name for run in runs]) for name in kernels]

    def record(logarithms: NDArray[np.float64]) -> PriceRecord:
        """Prices from their logarithms, one row a price."""
        return type(start)(**known | dict(zip(positive, np.exp(logarithms), strict=True)))

    def residuals(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The errors of the logarithms of costs, for each row of logarithms of prices."""
        prices = record(rows.T)
        found = []
        for run in runs:
            ask_clock()
            found.append(np.broadcast_to(as_array(price(prices, run)), len(rows)))
        differences = np.log(np.stack(found, axis=1)) - times
        for group in groups:
            middle = _weighted_median(differences[:, group], weights[group])
            differences[:, group] -= middle[:, None]
        return np.asarray(differences)

    def loss(errors: NDArray[np.float64], row: NDArray[np.float64]) -> float:
        of_errors = weights * np.log1p((errors / TYPICAL) ** 2)
        return float(of_errors.sum() + RIDGE * ((row - first) ** 2).sum() * weights.sum())

    here = first
    (errors,) = residuals(here[None])
    for _ in range(STEPS):
        slopes = (residuals(here + np.eye(len(here)) * _SLOPE) - errors).T / _SLOPE
        counts = weights / (TYPICAL**2 + errors**2)
        ridge = RIDGE * weights.sum()
        normal = slopes.T @ (counts[:, None] * slopes) + ridge * np.eye(len(here))
        downhill = slopes.T @ (counts * errors) + ridge * (here - first)
        move = -np.linalg.solve(normal, downhill)
        move *= min(1.0, LARGEST_STEP / max(float(np.abs(move).max()), 1e-12))
        while float(np.abs(move).max()) > 1e-4:
            (there,) = residuals((here + move)[None])
            if loss(there, here + move) < loss(errors, here):
                here, errors = here + move, there
                break
            move = move / 2
        else:
            break
    return type(start)(**known | dict(zip(positive, np.exp(here).tolist(), strict=True)))


def _weighted_median(
    rows: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weighted median of each row."""
    order = np.argsort(rows, axis=1)
    passed = np.cumsum(weights[order], axis=1)
    middle = (passed < passed[:, -1:] / 2).sum(axis=1)
    places = order[np.arange(len(rows)), middle]
    return np.asarray(rows[np.arange(len(rows)), places])
