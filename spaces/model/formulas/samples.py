"""An assignment of numbers to variables, within their known limits.

A claim that is false for an assignment has no proof. Trying the assignment first saves the search,
which takes longest when it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define, field

from spaces.model.expressions.expr import Const, Expr, Op, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import INTEGERS
from spaces.model.formulas.polynomial import Polynomial

_Ranges = Mapping[str, tuple[Expr | None, Expr | None]]


@define
class Sample:
    """An assignment; it picks the number of a variable at the first use.

    Attributes:
        ranges: the limits of variables; the owner of the assignment may add to them.
        consulted: the names of variables whose limits the assignment used; it adds to this set.
        pick: maps ``(least, most, seed)`` to a number between the limits. A limit may be None; each
            variable has its own seed.
        outer: an assignment with the same values for all variables but ``own``.
        own: the one variable that ``outer`` does not know.
    """

    ranges: _Ranges
    consulted: set[str]
    pick: Callable[[int | None, int | None, int], int]
    outer: Sample | None = None
    own: str = ""
    _values: dict[Expr, int | None] = field(init=False, factory=dict)

    def forget(self) -> None:
        """Drops all numbers, after a change of limits in use."""
        self._values.clear()

    def of(self, form: Polynomial) -> int | None:
        """The value of a normal form; None if this assignment breaks a limit."""
        total, known = 0, self._values
        for monomial, coefficient in form.terms.items():
            for atom in monomial:
                value = known[atom] if atom in known else self._value(atom)
                if value is None:
                    return None
                coefficient *= value
            total += coefficient
        return total

    def _value(self, expr: Expr) -> int | None:
        if isinstance(expr, Const):
            return int(expr.value)
        if expr not in self._values:
            if self.outer is not None and self.own not in expr.names:
                return self.outer._value(expr)
            self._values[expr] = None  # for a limit that refers to itself
            self._values[expr] = self._found(expr)
        return self._values[expr]

    def _found(self, expr: Expr) -> int | None:
        if isinstance(expr, Variable):
            return self._variable(expr)
        operator = INTEGERS.operators.get(expr.name) if isinstance(expr, Op) else None
        if operator is not None and all(map(_is_known, expr.children)):
            operands = [self._value(a) for a in expr.children]
            return None if None in operands else int(operator(*operands))
        # Only the type limits other values.
        return self.pick(expr.type.min_value, expr.type.max_value, expr.digest)

    def _variable(self, variable: Variable) -> int | None:
        name = variable.name
        self.consulted.add(name)
        low, high = self.ranges.get(name, (None, None))
        ends = [None if end is None else self._value(end) for end in (low, high)]
        least, most = ends
        if (low is not None and least is None) or (high is not None and most is None):
            return None
        if ".extent." in name:
            least = 1 if least is None else max(least, 1)
        if least is not None and most is not None and least > most:
            return None
        return self.pick(least, most, variable.digest)


def _is_known(operand: Expr) -> bool:
    """Whether an assignment has a number for an operand: a coordinate or a condition."""
    return operand.type is Int32 or operand.type.is_bool


_FAR = 1009
"""The distance of a picked number from its only limit."""


def least(low: int | None, high: int | None, seed: int) -> int:
    """The smallest number between two limits; 0 or less if there is no lower limit."""
    if low is not None:
        return low
    return 0 if high is None else min(high, 0)


def most(low: int | None, high: int | None, seed: int) -> int:
    """The largest number between two limits; a large number if there is no upper limit."""
    if high is not None:
        return high
    return _FAR if low is None else low + _FAR


def middle(low: int | None, high: int | None, seed: int) -> int:
    """A number halfway between two limits."""
    return (least(low, high, seed) + most(low, high, seed)) // 2


def scattered(low: int | None, high: int | None, seed: int) -> int:
    """A number between two limits, different for variables with the same limits."""
    first, last = least(low, high, seed), most(low, high, seed)
    return first + seed % (last - first + 1)


def mirrored(low: int | None, high: int | None, seed: int) -> int:
    """The number as far from the upper limit as :func:`scattered` is from the lower one. It
    reverses the order of two variables with the same limits.
    """
    first, last = least(low, high, seed), most(low, high, seed)
    return last - seed % (last - first + 1)


def lowest(low: int | None, high: int | None, seed: int) -> int:
    """The smallest number between two limits; far below the upper one, or below zero, if there is
    no lower limit.
    """
    if low is not None:
        return low
    return (0 if high is None else min(high, 0)) - _FAR


PICKS = (least, most, middle, scattered, mirrored)
"""The ways to pick a number; together they refute most false claims. Forms depend on them, because
they choose which operands of a long min or max decide. :func:`lowest` only refutes.
"""
