"""How far the prices of a cost model are wrong, and how alike the errors of two prices are.

The error of a price is the logarithm of the time over the price, up to a number that all schedules
of a pipeline share: prices rank the schedules of one pipeline. Each part of a price, what a stage
costs for one cause, has an error of its own, and the error changes as the part becomes cheaper or
dearer. So near twins have nearly the same error, and nothing is won by timing both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from attrs import Attribute, field, frozen
from numpy.typing import NDArray

from spaces.model.expressions.numbers import is_real, shown_number

PartName: TypeAlias = tuple[str, int, str]
"""A Func, the number of its stage, and the kind of cost."""

PriceParts: TypeAlias = Mapping[PartName, float]
"""The parts of a price. Their sum, the price, is positive."""


def _is_positive(_: object, attribute: Attribute[float], given: Any) -> None:
    if not is_real(given) or not 0 < given < math.inf:
        raise ValueError(
            f"PriceErrors.{attribute.name} is {shown_number(given)}; it must be a positive number."
        )


@frozen(kw_only=True)
class PriceErrors:
    """The joint distribution of the errors of the prices of one pipeline: a Gaussian process.

    The covariance of the errors of schedules ``a`` and ``b`` is ::

        spread² · Σ √(share of the part in a · share of the part in b) · exp(-|change| / reach)

    over the parts that both prices have, where ``change`` is the logarithm of what the part costs
    in ``a`` over what it costs in ``b``. For a schedule with itself the sum is 1, and ``own²`` is
    added.

    Attributes:
        spread: the standard deviation of the error that the parts make.
        reach: by which logarithm the cost of a part changes until its error is nearly another one:
            the correlation of the two is then 1/e.
        own: the standard deviation of the error that no other schedule shares, noise included.

    Raises:
        ValueError: one of the numbers is not positive, or not finite. Without errors of their own,
            twins would have the same time for certain, and nothing could be drawn.
    """

    spread: float = field(validator=_is_positive)
    reach: float = field(validator=_is_positive)
    own: float = field(validator=_is_positive)

    def covariance(self, prices: Sequence[PriceParts]) -> NDArray[np.float64]:
        """The covariances of the errors of some prices: a row and a column for each."""
        names = list(dict.fromkeys(name for parts in prices for name in parts))
        costs = np.array([[parts.get(name, 0.0) for name in names] for parts in prices])
        roots = np.sqrt(costs / costs.sum(axis=1, keepdims=True))
        logs = np.log(np.maximum(costs, np.finfo(float).tiny))
        alike = np.zeros((len(prices), len(prices)))
        for root, log in zip(roots.T, logs.T, strict=True):
            alike += np.outer(root, root) * np.exp(-np.abs(log[:, None] - log) / self.reach)
        found: NDArray[np.float64] = self.spread**2 * alike + self.own**2 * np.eye(len(prices))
        return found

    def chance_of_second(self, first: PriceParts, second: PriceParts) -> float:
        """The chance that the second of two schedules of a pipeline is faster than the first."""
        (one, both), (_, other) = self.covariance([first, second])
        cheaper = math.log(sum(first.values()) / sum(second.values()))
        return NormalDist(0.0, math.sqrt(one + other - 2 * both)).cdf(cheaper)
