"""``a & b``, the bits that two numbers have in common, in formulas for the solver.

The other two operators follow for integers: ``a | b = a + b - (a & b)`` and ``a ^ b = a + b - 2 *
(a & b)``.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.reasoning.formulas import all_of, any_of, at_most, less, negation
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32

_MOST_RUNS = 2
"""The most runs of bits in a mask; with more the formulas grow too long for the solver."""

_ZERO, _ONE, _ALL = (constant(n, Int32) for n in (0, 1, -1))


def masked(value: Expr, mask: int) -> Expr | None:
    """``value & mask`` by remainders: bits ``low`` to ``high - 1`` of a number ``a`` are ``a %
    2**high - a % 2**low``. None for a mask with too many runs of bits.
    """
    runs = tuple(_runs(mask))
    if len(runs) > _MOST_RUNS or any(max(low, high or 0) > 30 for low, high in runs):
        return None
    total: Expr = _ZERO
    for low, high in runs:
        total = total + (value if high is None else value % (1 << high))
        total = total - value % (1 << low) if low else total
    return total


def _runs(mask: int) -> Iterator[tuple[int, int | None]]:
    """The runs of set bits as half-open ranges; the last run of a negative number has no end."""
    low = 0
    while mask:
        if mask == -1:
            yield low, None
            return
        zeros = (mask & -mask).bit_length() - 1
        mask, low = mask >> zeros, low + zeros
        if mask == -1:
            continue
        ones = (~mask & (mask + 1)).bit_length() - 1
        yield low, low + ones
        mask, low = mask >> ones, low + ones


def facts(common: Expr, a: Expr, b: Expr) -> Iterator[Expr]:
    """Conditions on ``common``, which is ``a & b``: it lies in ``0 .. a`` if a is not negative. If
    a is negative, it is at most b and at least ``a + b + 1``. The same holds with a and b swapped.
    """
    for one, other in ((a, b), (b, a)):
        is_negative = less(one, _ZERO)
        not_negative = all_of((at_most(_ZERO, common), at_most(common, one)))
        yield any_of((is_negative, not_negative))
        yield any_of((negation(is_negative), at_most(common, other)))
    least = at_most(a + b + 1, common)
    neither = all_of((at_most(_ZERO, a), at_most(_ZERO, b)))
    yield any_of((neither, least))
    yield any_of((at_most(_ZERO, a), at_most(_ZERO, b), less(common, _ZERO)))
