"""Unions of intervals and of boxes, with simplified ends."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from spaces.model.expressions import functions as fn
from spaces.model.formulas.interval import Box, Interval, union
from spaces.model.formulas.simplify import Simplifier


def united(intervals: Iterable[Interval], simplify: Simplifier) -> Interval:
    """The smallest interval that contains all of ``intervals``, one or more."""
    whole = reduce(union, intervals)
    return Interval(
        None if whole.min is None else simplify(whole.min),
        None if whole.max is None else simplify(whole.max),
    )


def united_boxes(a: Box, b: Box, simplify: Simplifier) -> Box:
    """The smallest box that contains both."""
    return tuple(united(pair, simplify) for pair in zip(a, b, strict=True))


def clipped(interval: Interval, whole: Interval, simplify: Simplifier) -> Interval:
    """The part of ``interval`` in ``whole``; the nearest end of ``whole`` if that part is empty."""
    low, high = interval.min, interval.max
    if low is None or high is None or whole.min is None or whole.max is None:
        return interval
    return Interval(
        simplify(fn.max(fn.min(low, whole.max), whole.min)),
        simplify(fn.min(fn.max(high, whole.min), whole.max)),
    )
