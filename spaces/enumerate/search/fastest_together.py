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
    free = np.ones(len(prices), dtype=np.bool_)
    times = _draw_times(logs, errors.covariance(prices))
    least, chosen = np.full(DRAWS, np.inf), list[int]()
    best = 0
    while len(chosen) < places and free.any():
        chosen.append(best)
        free[best] = False
        if alike is not None:
            free &= ~alike[best]
        least = np.minimum(least, times[:, best])
        gains = np.maximum(least[:, None] - times, 0.0).mean(axis=0)
        best = int(np.argmax(np.where(free, gains, -np.inf)))
    return chosen


def _draw_times(logs: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of times, a row for each draw."""
    normal = np.random.default_rng(0).standard_normal((DRAWS, len(logs)))
    drawn: NDArray[np.float64] = logs + normal @ np.linalg.cholesky(covariance).T
    return drawn
