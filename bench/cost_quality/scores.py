"""How well costs rank schedules: Spearman's correlation with times, and the regret of the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

TOP = 5
"""How many schedules of least cost a user times."""


def spearman(costs: Sequence[float], times: Sequence[float]) -> float:
    """The correlation of the ranks, from -1 to 1; equal values share the mean of their ranks. NaN
    if all costs or all times are equal.
    """
    a, b = _ranks(costs), _ranks(times)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale else float("nan")


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: NDArray[np.float64] = (2 * ends - counts - 1) / 2
    return means[place]


def regret(costs: Sequence[float], times: Sequence[float], top: int = TOP) -> float:
    """How much longer the fastest of the ``top`` schedules of least cost takes than the fastest of
    all, as a part of the latter: 0 if it is among them. Of equal costs the slower schedules count
    as the first, so a model gains nothing by giving many the same cost.
    """
    cheapest = sorted(zip(costs, (-time for time in times), strict=True))[:top]
    return min(-time for _, time in cheapest) / min(times) - 1
