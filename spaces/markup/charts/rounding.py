"""Round numbers between two values."""

from __future__ import annotations

import math


def round_steps(low: float, high: float, count: int) -> list[float]:
    """About that many multiples of 1, 2 or 5 times a power of ten between two values."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((factor * power for factor in (1, 2, 5) if factor * power >= rough), 10 * power)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]
