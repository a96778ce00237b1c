"""The limits of ``a & b``, ``a | b`` and ``a ^ b``, as formulas over the limits of a and b.

If a is not negative, ``0 <= a & b <= a``. If a is negative, ``a & b >= a + b + 1``, because
``a & b = b - (b & ~a)`` and ``b & ~a <= ~a``. Besides, ``a | b = ~(~a & ~b)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32

Endpoint: TypeAlias = Expr | None

_ZERO, _ONE, _ALL = (constant(n, Int32) for n in (0, 1, -1))


@frozen
class Bits:
    """The range of an int32 number, with bitwise operators; None is an unknown end.

    Attributes:
        is_proven: tells whether ``a <= b`` follows from the known ranges.
    """

    low: Endpoint
    high: Endpoint
    is_proven: Callable[[Expr, Expr], bool]

    @property
    def is_plain(self) -> bool:
        """Whether the number is never negative."""
        return self.low is not None and self.is_proven(_ZERO, self.low)

    @property
    def is_negative(self) -> bool:
        """Whether the number is always negative."""
        return self.high is not None and self.is_proven(self.high, _ALL)

    def __invert__(self) -> Bits:
        low = None if self.high is None else _ALL - self.high
        high = None if self.low is None else _ALL - self.low
        return Bits(low, high, self.is_proven)

    def __and__(self, other: Bits) -> Bits:
        return Bits(self._least_common(other), self._most_common(other), self.is_proven)

    def __or__(self, other: Bits) -> Bits:
        return ~(~self & ~other)

    def __xor__(self, other: Bits) -> Bits:
        """Inverts negative sides first, as ``~a ^ b = ~(a ^ b)``. It inverts each side at most
        once: the ends of an empty range may look negative before and after.
        """
        one, another = (~side if side.is_negative else side for side in (self, other))
        found = one._apart(another)
        return ~found if self.is_negative != other.is_negative else found

    def _apart(self, other: Bits) -> Bits:
        """``a ^ b`` for two numbers, if neither is provably always negative."""
        for a, b in ((self, other), (other, self)):
            if b.is_plain:
                return a._turned(b)
        if self.reach is None or other.reach is None:
            return Bits(None, None, self.is_proven)
        most = self.reach + other.reach
        return Bits(_ALL - most, most, self.is_proven)

    @property
    def reach(self) -> Endpoint:
        """The largest ``max(n, ~n)`` over all numbers n in the range."""
        if self.low is None or self.high is None:
            return None
        return fn.max(self.high, _ALL - self.low)

    def _least_common(self, other: Bits) -> Endpoint:
        if self.is_plain or other.is_plain:
            return _ZERO
        if self.low is None or other.low is None:
            return None
        if self.is_negative or other.is_negative:
            return self.low + other.low + _ONE
        return fn.min(self.low, _ZERO) + fn.min(other.low, _ZERO)

    def _most_common(self, other: Bits) -> Endpoint:
        """The upper end of ``a & b``: it is at most ``a`` if ``a`` is not negative or ``b`` is."""
        tops = [
            a.high
            for a, b in ((self, other), (other, self))
            if a.high is not None and (a.is_plain or b.is_negative)
        ]
        if tops:
            return tops[0] if len(tops) == 1 else fn.min(*tops)
        if self.high is None or other.high is None:
            return None
        return fn.max(self.high, other.high)

    def _turned(self, other: Bits) -> Bits:
        """``a ^ b`` for ``b`` from 0 on: it differs from ``a`` by at most ``b``."""
        low = high = None
        if other.high is not None and self.low is not None:
            low = self.low - other.high
        if other.high is not None and self.high is not None:
            high = self.high + other.high
        return Bits(_ZERO if self.is_plain else low, high, self.is_proven)
