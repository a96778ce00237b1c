"""Unions of intervals and of boxes, with simplified ends."""

from __future__ import annotations

from spaces.model.regions import Box, Interval, union
from spaces.model.simplify import Simplifier


def united(a: Interval, b: Interval, simplify: Simplifier) -> Interval:
    """The least interval that holds both."""
    return _simplified(union(a, b), simplify)


def united_boxes(a: Box, b: Box, simplify: Simplifier) -> Box:
    """The least box that holds both."""
    return tuple(united(x, y, simplify) for x, y in zip(a, b, strict=True))


def _simplified(interval: Interval, simplify: Simplifier) -> Interval:
    return Interval(
        None if interval.min is None else simplify(interval.min),
        None if interval.max is None else simplify(interval.max),
    )
