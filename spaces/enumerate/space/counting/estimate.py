"""The number of legal schedules: certain bounds, and estimates from random candidates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from attrs import frozen

from spaces.enumerate.space.counting.candidates import Candidates
from spaces.enumerate.space.counting.draws import draws
from spaces.enumerate.space.space import Space
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.numbers import seconds_given

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
        samples: the number of schedules drawn.
        legal: the number of legal ones among them.
        mean: the mean weight.
    """

    samples: int
    legal: int
    mean: Fraction

    @property
    def low(self) -> Fraction:
        """With a confidence of 95 %, the number is not less than this: by Markov's inequality the
        mean of weights exceeds 20 times its expected value once in 20 times at most.
        """
        return self.mean / 20

    def __str__(self) -> str:
        """``at least 5.1e+21 with 95 % confidence; the mean weight of 200 samples, 180 of them
        legal, is 1.0e+23``.
        """
        return (
            f"at least {about(self.low)} with 95 % confidence; the mean weight of {self.samples} "
            f"samples, {self.legal} of them legal, is {about(self.mean)}"
        )


def estimate(
    space: Space, samples: int = 200, seed: int = 0, *, seconds: float = math.inf
) -> CountEstimate | WeightedEstimate:
    """An estimate of the number of legal schedules from random ones: at most ``samples``, fewer if
    the time ends before. A weighted one unless the space has ``only_patterns``.

    Raises:
        ValueError, TimeoutError: as :func:`estimating` does.
    """
    *_, found = estimating(space, samples, seed, seconds=seconds)
    return found


def estimating(
    space: Space, samples: int = 200, seed: int = 0, *, seconds: float = math.inf
) -> Iterator[CountEstimate | WeightedEstimate]:
    """The estimates after each draw of :func:`estimate`, the last one is the best.

    Raises:
        ValueError: ``samples`` is less than 1.
        TimeoutError: the time does not suffice for one schedule.
    """
    if samples < 1:
        raise ValueError(f"estimate(samples) takes an integer of at least 1, not {samples}.")
    deadline = Deadline.after(seconds_given("estimate(seconds)", seconds))
    drawn, legal, total = 0, 0, Fraction(0)
    try:
        for draw in deadline.each(itertools.islice(draws(space, seed), samples)):
            drawn, legal, total = drawn + 1, legal + bool(draw.verdict), total + draw.weight
            if space.only_patterns:
                yield CountEstimate(space.once(Candidates).total, drawn, legal)
            else:
                yield WeightedEstimate(drawn, legal, total / drawn)
    except OutOfTime:
        if not drawn:
            raise TimeoutError(
                f"To draw one schedule of {space.pipeline.name} takes longer than {seconds:g} "
                "s; give estimate more seconds."
            ) from None


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
