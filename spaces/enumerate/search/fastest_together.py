"""Which schedules to time together, if prices may be wrong.

The cheapest schedule comes first. Each further one is chosen for the least time of all that are
chosen: it is the one that lowers the expected logarithm of that time most. This is expected
improvement, chosen greedily as in Ginsbourger, Le Riche and Carraro (2010), "Kriging is well-suited
to parallelize optimization". A schedule has a chance if it costs little more and its price is wrong
for other reasons. A near twin has none: it is slow where the other one is slow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spaces.cost.errors import PriceErrors, PriceParts

DRAWS = 1000
"""How many times of all schedules are drawn together."""


def choose_together(
    errors: PriceErrors,
    prices: Sequence[PriceParts],
    places: int,
    alike: NDArray[np.bool_] | None = None,
) -> list[int]:
    """The places of the chosen ones among some schedules of a pipeline, in the order of the choice.

    Args:
        errors: the errors of their prices.
        prices: the prices; the first one is the lowest.
        places: how many schedules to choose, at most.
        alike: which two schedules must not both be chosen.
    """
    logs = np.log([sum(parts.values()) for parts in prices])
    times = draw_times(logs, errors.covariance(prices))
    free = np.ones(len(prices), dtype=np.bool_)
    least, chosen = np.full(DRAWS, np.inf), list[int]()
    best = 0
    while len(chosen) < places and free.any():
        chosen.append(best)
        free[best] = False
        if alike is not None:
            free &= ~alike[best]
        least = np.minimum(least, times[:, best])
        best = _gain_most(times, least, free)
    return chosen


def choose_faster(times: NDArray[np.float64], least: float, places: int) -> list[int]:
    """The places of the chosen ones among some schedules, in the order of the choice, where the
    time of the fastest schedule so far is known.

    Args:
        times: logarithms of their times, a row for each draw.
        least: the logarithm of the time of the fastest one so far.
        places: how many to choose, at most.
    """
    free = np.ones(times.shape[1], dtype=np.bool_)
    lowest, chosen = np.full(len(times), least), list[int]()
    while len(chosen) < places and free.any():
        best = _gain_most(times, lowest, free)
        chosen.append(best)
        free[best] = False
        lowest = np.minimum(lowest, times[:, best])
    return chosen


def draw_times(logs: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of times, a row for each draw, always the same ones.

    Args:
        logs: their expected values.
        covariance: how they vary together.
    """
    normal = np.random.default_rng(0).standard_normal((DRAWS, len(logs)))
    drawn: NDArray[np.float64] = logs + normal @ np.linalg.cholesky(covariance).T
    return drawn


def _gain_most(
    times: NDArray[np.float64], least: NDArray[np.float64], free: NDArray[np.bool_]
) -> int:
    """The free one that lowers the least time most, in the mean of all draws."""
    gains = np.maximum(least[:, None] - times, 0.0).mean(axis=0)
    return int(np.argmax(np.where(free, gains, -np.inf)))
