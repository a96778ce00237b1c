"""What the results of a study say about schedules that it has not measured, if its cost model knows
how far its prices may be wrong.

The errors of prices are a Gaussian process (:class:`PriceErrors`), fitted to measured schedules of
many pipelines. A result tells the error of one price, and so the likely errors of prices with the
same parts. Beside that, each part of a schedule has a small effect that no price has, as in
:mod:`~spaces.tuning.measured_effects`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from spaces.cost.errors import PriceErrors, PriceParts
from spaces.tuning.measured_effects import SchedulePart

EFFECT = 0.05
"""The standard deviation of the effect of one part of a schedule beside its price, as a logarithm
of time.
"""


@frozen
class PricedParts:
    """What is known of a schedule before it runs.

    Attributes:
        price: the parts of its price.
        parts: the parts of the schedule.
    """

    price: PriceParts
    parts: tuple[SchedulePart, ...]

    @property
    def log_price(self) -> float:
        """The logarithm of the price."""
        return float(np.log(sum(self.price.values())))


@frozen(eq=False)
class ExpectedTimes:
    """The times that schedules are expected to take, after some results.

    Attributes:
        errors: the errors of prices, as far as no result is known.
        known: the schedules with results.
    """

    errors: PriceErrors
    known: tuple[PricedParts, ...]
    _unexpected: NDArray[np.float64] = field(repr=False)
    _mean: float

    @classmethod
    def fit(
        cls, errors: PriceErrors, known: Sequence[PricedParts], ratios: Sequence[float]
    ) -> Self:
        """What results tell.

        Args:
            errors: the errors of prices.
            known: some schedules.
            ratios: their times, in a unit that all share.
        """
        wrong = np.log(ratios) - [one.log_price for one in known]
        if not known:
            return cls(errors, (), wrong, 0.0)
        # All prices of a pipeline are wrong by one unknown factor: generalised least squares.
        solved = np.linalg.solve(
            _covariance(errors, known, len(known)), np.stack([np.ones(len(known)), wrong], axis=1)
        )
        mean = float(solved[:, 1].sum() / solved[:, 0].sum())
        return cls(errors, tuple(known), wrong - mean, mean)

    def expect(
        self, others: Sequence[PricedParts]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The logarithms of the times of some schedules, in the unit of the results: what they are
        expected to be, and how they vary together.
        """
        known = len(self.known)
        covariance = _covariance(self.errors, [*self.known, *others], known)
        own, beside = covariance[known:, known:], covariance[known:, :known]
        logs = np.array([one.log_price for one in others]) + self._mean
        if known:
            told = np.linalg.solve(covariance[:known, :known], beside.T).T
            logs = logs + told @ self._unexpected
            own = own - told @ beside.T
        return logs, own


def _covariance(
    errors: PriceErrors, schedules: Sequence[PricedParts], known: int
) -> NDArray[np.float64]:
    """The covariances of the errors of prices, with the effects of parts. An effect counts from its
    mean over the known ones, which come first.
    """
    parts = dict.fromkeys(part for one in schedules for part in one.parts)
    columns = {part: place for place, part in enumerate(parts)}
    has = np.zeros((len(schedules), len(columns)))
    for place, one in enumerate(schedules):
        has[place, [columns[part] for part in one.parts]] = 1.0
    if known:
        has -= has[:known].mean(axis=0)
    return errors.covariance([one.price for one in schedules]) + EFFECT**2 * (has @ has.T)
