"""Closed intervals between two expressions, and boxes of them. A missing end is unbounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr


@frozen
class Interval:
    """All values from ``min`` to ``max``, both inclusive; None is an unbounded end."""

    min: Expr | None
    max: Expr | None

    @staticmethod
    def point(expr: Expr) -> Interval:
        """The interval with one value."""
        return Interval(expr, expr)

    @property
    def is_point(self) -> bool:
        """Whether both ends are the same expression, so that the interval has one value."""
        return self.min is not None and self.min is self.max

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are known."""
        return self.min is not None and self.max is not None


UNBOUNDED = Interval(None, None)

Box: TypeAlias = tuple[Interval, ...]
"""One interval for each dimension, the innermost first."""


def union(a: Interval, b: Interval) -> Interval:
    """The smallest interval that contains both."""
    low = a.min if a.min is b.min else both(a.min, b.min, fn.min)
    high = a.max if a.max is b.max else both(a.max, b.max, fn.max)
    return a if low is a.min and high is a.max else Interval(low, high)


def both(a: Expr | None, b: Expr | None, combine: Callable[[Expr, Expr], Expr]) -> Expr | None:
    """The combined ends; unbounded if one end is."""
    return None if a is None or b is None else combine(a, b)


def either(a: Expr | None, b: Expr | None, combine: Callable[[Expr, Expr], Expr]) -> Expr | None:
    """The combined ends; if one end is unbounded, the other end."""
    if a is None or b is None:
        return a if b is None else b
    return combine(a, b)
