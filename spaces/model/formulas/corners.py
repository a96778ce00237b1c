"""The smallest and largest results of integer operators, from the ranges of their operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from spaces.model.expressions.intrinsics import BIT_COUNTS
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import INTEGERS

Ends: TypeAlias = tuple[int, int]
"""The smallest and the largest of some numbers."""


def _at_corners(name: str) -> Callable[[Type, Ends, Ends], Ends]:
    """The ends of an operator whose extreme results lie at extreme operands."""
    apply = INTEGERS.operators[name]

    def found(type: Type, a: Ends, b: Ends) -> Ends:
        values = [apply(x, y) for x in a for y in b]
        return min(values), max(values)

    return found


def _quotient(type: Type, a: Ends, b: Ends) -> Ends | None:
    return _at_corners("div")(type, a, b) if b[0] > 0 else None


def _remainder(type: Type, a: Ends, b: Ends) -> Ends:
    if b[0] <= 0:
        return 0, max(max(-b[0], b[1]) - 1, 0)
    return a if 0 <= a[0] and a[1] < b[0] else (0, b[1] - 1)


def _shifted(name: str) -> Callable[[Type, Ends, Ends], Ends | None]:
    corners = _at_corners(name)
    return lambda type, a, b: corners(type, a, b) if 0 <= b[0] and b[1] < type.bits else None


def _common_bits(type: Type, a: Ends, b: Ends) -> Ends:
    """``a & b`` is at most ``a`` if ``a`` is not negative, and likewise for ``b``."""
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else (-_reach(a, b), max(a[1], b[1]))


def _joined_bits(type: Type, a: Ends, b: Ends) -> Ends:
    least = max(a[0], b[0]) if min(a[0], b[0]) >= 0 else min(a[0], b[0])
    return least, -1 if min(a[1], b[1]) < 0 else _reach(a, b) - 1


def _other_bits(type: Type, a: Ends, b: Ends) -> Ends:
    return 0 if min(a[0], b[0]) >= 0 else -_reach(a, b), _reach(a, b) - 1


def _reach(a: Ends, b: Ends) -> int:
    """The least power of two above ``max(n, ~n)`` of every number n."""
    return 1 << max((end if end >= 0 else ~end).bit_length() for end in (*a, *b))


def _magnitude(type: Type, a: Ends) -> Ends:
    return max(a[0], -a[1], 0), max(a[1], -a[0])


def _count(type: Type, a: Ends) -> Ends:
    return 0, type.bits


CORNERS: dict[str, Callable[..., Ends | None]] = {
    "add": _at_corners("add"),
    "sub": _at_corners("sub"),
    "mul": _at_corners("mul"),
    "div": _quotient,
    "mod": _remainder,
    "min": _at_corners("min"),
    "max": _at_corners("max"),
    "shift_left": _shifted("shift_left"),
    "shift_right": _shifted("shift_right"),
    "bit_and": _common_bits,
    "bit_or": _joined_bits,
    "bit_xor": _other_bits,
    "abs": _magnitude,
    **dict.fromkeys(BIT_COUNTS, _count),
}
"""For each operator, a function from the result type and the ends of each operand to the ends of
the result, if it does not wrap; None for unknown ends.
"""
