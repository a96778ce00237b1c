"""One assignment of numbers to all variables that their known limits allow.

Where a claim is false of it no proof can be found, and none need be looked for: looking in vain is
what costs time.
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
    """An assignment, found as it is asked for.

    Attributes:
        ranges: the limits of variables, which its owner may add to.
        consulted: the names whose limits were looked at, which is added to here.
        pick: of ``(least, most, seed)``, either of the first two of which may be missing, a number
            between them; the seed is another one for every variable.
        outer: an assignment that gives all but the variable ``own`` the same values.
        own: what it may not be asked about.
    """

    ranges: _Ranges
    consulted: set[str]
    pick: Callable[[int | None, int | None, int], int]
    outer: Sample | None = None
    own: str = ""
    _values: dict[Expr, int | None] = field(init=False, factory=dict)

    def forget(self) -> None:
        """Limits that were looked at have changed."""
        self._values.clear()

    def of(self, form: Polynomial) -> int | None:
        """The value of a normal form; None where this assignment breaks a limit."""
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
            self._values[expr] = None  # what a limit that refers to itself sees
            self._values[expr] = self._found(expr)
        return self._values[expr]

    def _found(self, expr: Expr) -> int | None:
        if isinstance(expr, Variable):
            return self._variable(expr)
        known = isinstance(expr, Op) and all(a.type is Int32 or a.type.is_bool for a in expr.args)
        if known and isinstance(expr, Op) and expr.name in INTEGERS.operators:
            operands = [self._value(a) for a in expr.args]
            if any(o is None for o in operands):
                return None
            return int(INTEGERS.operators[expr.name](*operands))
        # Of any other value nothing is known but its type.
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


_FAR = 1009
"""How far from a limit numbers are picked, where the other limit is missing."""


def least(low: int | None, high: int | None, seed: int) -> int:
    """The least number between two limits."""
    if low is not None:
        return low
    return 0 if high is None else min(high, 0)


def most(low: int | None, high: int | None, seed: int) -> int:
    """The largest number between two limits; a large one where there is none."""
    if high is not None:
        return high
    return _FAR if low is None else low + _FAR


def middle(low: int | None, high: int | None, seed: int) -> int:
    """A number between two limits, well away from both."""
    return (least(low, high, seed) + most(low, high, seed)) // 2


def scattered(low: int | None, high: int | None, seed: int) -> int:
    """A number between two limits that tells variables of the same limits apart."""
    first, last = least(low, high, seed), most(low, high, seed)
    return first + seed % (last - first + 1)


def mirrored(low: int | None, high: int | None, seed: int) -> int:
    """The number as far from the other limit as :func:`scattered` is from the one: of two
    variables the other one is the larger.
    """
    first, last = least(low, high, seed), most(low, high, seed)
    return last - seed % (last - first + 1)


PICKS = (least, most, middle, scattered, mirrored)
"""Ways to pick, which together show most false claims to be false."""
