"""Axes of charts: the range of some values, even or logarithmic, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from attrs import frozen

from spaces.markup.charts.rounding import round_steps

_WIDE = 4.0
"""Values that lie further apart than this factor are on a logarithmic axis."""

_TICKS = 6
"""An axis has about this many ticks."""

_MOST = 8
"""A logarithmic axis has at most this many."""


@frozen
class Axis:
    """An axis.

    Attributes:
        title: what its values are, with their unit.
        low: the value at its beginning.
        high: the value at its end; above ``low``.
        ticks: values and what is written beside them.
        is_log: whether equal steps are equal factors.
    """

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the beginning, 1 at the end."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


def axis_from_zero(title: str, most: float, shown: Callable[[float], str]) -> Axis:
    """An axis from zero to a value."""
    steps = round_steps(0.0, most or 1.0, _TICKS)
    return Axis(title, 0.0, (most or 1.0) * 1.03, tuple((one, shown(one)) for one in steps))


def axis_around(title: str, values: Iterable[float], shown: Callable[[float], str]) -> Axis:
    """An axis on which some values above zero lie, with a little room beside them; logarithmic if
    they lie far apart.
    """
    found = list(values) or [1.0]
    low, high = min(found), max(found)
    is_log = high > _WIDE * low
    if is_log:
        low, high = low / 1.15, high * 1.15
        ticks = _log_ticks(low, high)
    else:
        room = 0.08 * (high - low) or 0.1 * high
        low, high = max(low - room, 0.0), high + room
        ticks = round_steps(low, high, _TICKS)
    return Axis(title, low, high, tuple((one, shown(one)) for one in ticks), is_log)


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten between two values; fewer where these are too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        values = [factor * 10.0**power for power in powers for factor in factors]
        found = [one for one in values if low <= one <= high]
        if len(found) <= _MOST:
            return found
    return found[:: math.ceil(len(found) / _MOST)]
