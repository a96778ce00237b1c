"""Quantiles of Student's t distribution, for intervals and tests of a few measurements."""

from __future__ import annotations

import math
from functools import cache

PRECISION = 1e-9
"""How exact a quantile is, relative to its size."""


@cache
def student_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with that many degrees of freedom stays below with a probability.

    Args:
        probability: at least a half, and less than 1.
        freedom: degrees of freedom, at least 1.
    """
    low, high = 0.0, 1.0
    while student_probability(high, freedom) < probability:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        if student_probability(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def student_probability(value: float, freedom: int) -> float:
    """The probability that Student's t stays below a value that is at least 0 (Abramowitz and
    Stegun, 26.7.3 and 26.7.4, exact for whole degrees of freedom).
    """
    angle = math.atan(value / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom % 2:
        inside = 2 / math.pi * (angle + sine * cosine * _series(cosine, 2, freedom - 1))
    else:
        inside = sine * _series(cosine, 1, freedom - 1)
    return (1 + inside) / 2


def _series(cosine: float, first: int, end: int) -> float:
    """1 + f/(f+1) cos² + f(f+2)/((f+1)(f+3)) cos⁴ + ..., with factors f from ``first`` to below
    ``end`` in steps of two; 0 if ``end`` is below ``first``.
    """
    if end < first:
        return 0.0
    total = term = 1.0
    for factor in range(first, end, 2):
        term *= cosine**2 * factor / (factor + 1)
        total += term
    return total
