"""After how many iterations of a loop the rounding in a value repeats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from spaces.model.expressions.expr import Const, Expr, Op


@frozen
class Period:
    """How a value changes with a variable.

    Attributes:
        length: after this many steps of the variable, the value has changed by ``rise``.
        rise: 0 for a value that does not change, or changes unevenly; None for a multiple of a
            size, which may be any number.
    """

    length: int = 1
    rise: int | None = 0

    def over(self, length: int) -> int | None:
        """The rise over a multiple of the period."""
        return None if self.rise is None else self.rise * (length // self.length)


_FIXED = Period()

_Operands: TypeAlias = Sequence[Period]


def period(value: Expr, name: str) -> Period:
    """How a value changes with the variable of a name.

    ``8 * y / 16`` has risen by 1 after 2 values of ``y``, and ``tile * y / 16`` by an unknown
    number after 16. Where a limit cuts a value, it changes as it does within the limit.
    """
    if name not in value.names:
        return _FIXED
    if not isinstance(value, Op):
        return Period(1, 1)
    operands = [period(one, name) for one in value.args]
    return _OPERATORS.get(value.name, _join_values)(value, operands)


def _length(operands: _Operands) -> int:
    return math.lcm(*(one.length for one in operands))


def _sum(value: Op, operands: _Operands) -> Period:
    length = _length(operands)
    sign = -1 if value.name == "sub" else 1
    first, second = (one.over(length) for one in operands)
    return Period(length, None if first is None or second is None else first + sign * second)


def _product(value: Op, operands: _Operands) -> Period:
    """A value that is multiplied by one that moves, too, does not rise evenly."""
    length = _length(operands)
    if all(one != _FIXED for one in operands):
        return Period(length)
    moving, factor = operands, value.args[1]
    if moving[0] == _FIXED:
        moving, factor = operands[::-1], value.args[0]
    rise = moving[0].rise
    if rise == 0:
        return moving[0]
    if rise is None or not isinstance(factor, Const):
        return Period(length, None)
    return Period(length, rise * int(factor.value))


def _quotient(value: Op, operands: _Operands) -> Period:
    """A quotient repeats when its numerator has moved by a multiple of the divisor."""
    moved, divisor = operands[0], value.args[1]
    if not isinstance(divisor, Const):
        return Period(_length(operands), None if moved.rise != 0 else 0)
    number = abs(int(divisor.value))
    if moved.rise is None:
        return Period(moved.length * max(number, 1), None)
    common = math.gcd(moved.rise, number) or 1
    times = max(number // common, 1)
    return Period(moved.length * times, moved.rise // common if value.name == "div" else 0)


def _join_values(value: Op, operands: _Operands) -> Period:
    """One of several values that may move by different steps."""
    length = _length(operands)
    rises = [one.over(length) for one in operands if one.rise != 0]
    known = [rise for rise in rises if rise is not None]
    return Period(length, math.gcd(*known) if len(known) == len(rises) else None)


_OPERATORS: Mapping[str, Callable[[Op, _Operands], Period]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "div": _quotient,
    "mod": _quotient,
}
"""How the result of an operator changes with its operands."""
