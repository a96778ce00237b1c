"""Estimates of the number of legal schedules, from random candidates."""

from __future__ import annotations

import math

from attrs import frozen

_DEVIATIONS = 1.959964
"""Standard deviations around the mean of a normal distribution that hold 95 % of it."""


@frozen
class CountEstimate:
    """An estimate of a number of schedules, from independent random candidates.

    Attributes:
        candidates: the number of all candidates.
        samples: the number of candidates drawn.
        legal: the number of legal ones among them.
    """

    candidates: int
    samples: int
    legal: int

    @property
    def mean(self) -> float:
        """The number of legal schedules, if the share among all candidates is that of the draws."""
        return self.candidates * self.legal / self.samples

    @property
    def low(self) -> float:
        """The lower end of the interval that contains the number with a confidence of 95 %."""
        return self.candidates * max(0.0, self._centre - self._reach)

    @property
    def high(self) -> float:
        """The upper end of this interval."""
        return self.candidates * min(1.0, self._centre + self._reach)

    # The interval is Wilson's: it has a width also if all draws are legal, or none is.

    @property
    def _centre(self) -> float:
        extra = _DEVIATIONS**2
        return (self.legal + extra / 2) / (self.samples + extra)

    @property
    def _reach(self) -> float:
        extra = _DEVIATIONS**2
        share = self.legal / self.samples
        spread = self.samples * share * (1 - share) + extra / 4
        return _DEVIATIONS * math.sqrt(spread) / (self.samples + extra)

    def __str__(self) -> str:
        """``about 1.9e+21 (1.85e+21 to 1.93e+21 with 95 % confidence, 200 samples)``."""
        mean, low, high = (f"{n:,.0f}" if n < 1e6 else f"{n:.3g}" for n in self._numbers)
        return f"about {mean} ({low} to {high} with 95 % confidence, {self.samples} samples)"

    @property
    def _numbers(self) -> tuple[float, float, float]:
        return self.mean, self.low, self.high
