"""An axis of the numbers that rank schedules, and how many of many are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable

from spaces.markup.charts.axis import Axis, axis_around
from spaces.markup.quantities import shown_count

_WITHIN = 0.9
"""The axis reaches as far as this part of the numbers; larger ones stand at its edge."""


def ranked_axis(title: str, numbers: Iterable[float], shown: Iterable[float] = ()) -> Axis:
    """An axis for most of some numbers, the least ones, and for all of those in ``shown``."""
    ordered = sorted(numbers)
    most = max([ordered[int(_WITHIN * (len(ordered) - 1))], *shown])
    return axis_around(title, [one for one in ordered if one <= most], shown_count)


def stride(count: int, most: int) -> int:
    """Every n-th of ``count`` is drawn, so that there are at most ``most``."""
    return max(1, math.ceil(count / most))
