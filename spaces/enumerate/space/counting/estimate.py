"""The number of legal schedules: certain bounds, and estimates from random candidates."""

from __future__ import annotations

import math
from fractions import Fraction

from attrs import frozen

_DEVIATIONS = 1.959964
"""Standard deviations around the mean of a normal distribution that hold 95 % of it."""


@frozen
class CountBounds:
    """Certain bounds of a number of legal schedules.

    Attributes:
        low: the number is not less than this.
        high: the number is not greater than this; infinity if no such number is known.
    """

    low: int
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high

    def __str__(self) -> str:
        """``435``, ``at least 120``, or ``at least 120 and at most 1.5e+07``."""
        if self.is_exact:
            return about(self.low)
        if self.high == math.inf:
            return f"at least {about(self.low)}"
        return f"at least {about(self.low)} and at most {about(self.high)}"


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
        mean, low, high = map(about, self._numbers)
        return f"about {mean} ({low} to {high} with 95 % confidence, {self.samples} samples)"

    @property
    def _numbers(self) -> tuple[float, float, float]:
        return self.mean, self.low, self.high


@frozen
class WeightedEstimate:
    """An estimate of a number of schedules, from independent random schedules with weights.

    The mean of the weights is unbiased. In a wide space a few rare draws hold most of the sum, so
    the mean of some hundred draws is mostly too low.

    Attributes:
        candidates: the number of schedules, legal or not, is certainly not greater than this.
        samples: the number of schedules drawn.
        legal: the number of legal ones among them.
        mean: the mean weight.
    """

    candidates: int
    samples: int
    legal: int
    mean: Fraction

    @property
    def low(self) -> Fraction:
        """With a confidence of 95 %, the number is not less than this: by Markov's inequality the
        mean of weights exceeds 20 times its expected value once in 20 times at most.
        """
        return self.mean / 20

    @property
    def high(self) -> int:
        """The number is certainly not greater than this."""
        return self.candidates

    def __str__(self) -> str:
        """``at least 5.1e+21 with 95 % confidence and at most 1.9e+40; the 200 samples, 180 of them
        legal, have the mean weight 1.0e+23``.
        """
        return (
            f"at least {about(self.low)} with 95 % confidence and at most {about(self.high)}; "
            f"the mean weight of {self.samples} samples, {self.legal} of them legal, is "
            f"{about(self.mean)}"
        )


def about(number: float | Fraction) -> str:
    """A number in few digits: ``1,234`` or ``1.23e+22340``, also beyond the range of floats."""
    if number < 1e6:
        return f"{float(number):,.0f}"
    if isinstance(number, Fraction):
        number = round(number)
    if not isinstance(number, int) or number.bit_length() < 1000:
        return f"{number:.3g}"
    exponent = math.floor(math.log10(number) + 0.002)  # 9.995 is shown as the next power
    leading = 10 ** (math.log10(number) - exponent)
    return f"{leading:.2f}e+{exponent}"
