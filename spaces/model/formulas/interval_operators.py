"""The interval of an operator's results, from the intervals of its operands."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from operator import add, and_, mul, or_, sub, truediv, xor

from attrs import frozen

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.bits import Bits
from spaces.model.formulas.interval import UNBOUNDED, Interval, both, either, union
from spaces.model.formulas.simplify import Simplifier


@frozen
class OperatorIntervals:
    """The rules of the operators; ``simplify`` proves signs."""

    simplify: Simplifier

    def of(self, operator: str, *operands: Interval) -> Interval:
        """The interval of one of the operators in :data:`OPERATORS`, if it does not wrap."""
        return OPERATORS[operator](self, *operands)

    def _add(self, a: Interval, b: Interval) -> Interval:
        return Interval(both(a.min, b.min, add), both(a.max, b.max, add))

    def _sub(self, a: Interval, b: Interval) -> Interval:
        return Interval(both(a.min, b.max, sub), both(a.max, b.min, sub))

    def _mul(self, a: Interval, b: Interval) -> Interval:
        for fixed, other in ((a, b), (b, a)):
            if fixed.is_point and fixed.min is not None:
                factor = fixed.min
                ends = (both(other.min, factor, mul), both(other.max, factor, mul))
                if self._is_nonnegative(factor):
                    return Interval(*ends)
                if self._is_nonnegative(constant(0, factor.type) - factor):
                    return Interval(ends[1], ends[0])
        if a.min is None or a.max is None or b.min is None or b.max is None:
            return UNBOUNDED
        pairs = itertools.product(dict.fromkeys((a.min, a.max)), dict.fromkeys((b.min, b.max)))
        return _around([_product(x, y) for x, y in pairs])

    def _div(self, a: Interval, b: Interval) -> Interval:
        if b.is_point and b.min is not None and self._is_positive(b.min):
            divisor = b.min
            return Interval(both(a.min, divisor, truediv), both(a.max, divisor, truediv))
        if a.min is None or a.max is None:
            return UNBOUNDED
        if a.min.type.is_float and b.is_point and b.min is not None:
            return _around([end / b.min for end in dict.fromkeys((a.min, a.max))])
        if a.min.type is not Int32:
            return UNBOUNDED
        if b.min is not None and self._is_positive(b.min):  # towards 0, or -1
            zero = constant(0, Int32)
            return Interval(fn.min(a.min, zero), fn.max(a.max, zero))
        # A quotient of whole numbers is never further from 0 than the dividend.
        most = fn.max(a.max, -a.min)
        return Interval(-most, most)

    def _mod(self, a: Interval, b: Interval) -> Interval:
        if b.min is None or b.max is None or b.max.type.is_float:
            return UNBOUNDED
        if not (self._is_nonnegative(b.min) and self._is_positive(b.max)):
            if b.max.type is not Int32:
                return UNBOUNDED
            # A remainder is less than the magnitude of the divisor, or 0.
            most, one = fn.max(b.max, -b.min), constant(1, Int32)
            return Interval(constant(0, Int32), fn.max(most, one) - one)
        if a.min is not None and a.max is not None and b.is_point:
            first, last = self.simplify(a.min / b.max), self.simplify(a.max / b.max)
            if first is last:
                return Interval(a.min % b.max, a.max % b.max)
        return Interval(constant(0, b.max.type), b.max - 1)

    def _min(self, a: Interval, b: Interval) -> Interval:
        return Interval(both(a.min, b.min, fn.min), either(a.max, b.max, fn.min))

    def _max(self, a: Interval, b: Interval) -> Interval:
        return Interval(either(a.min, b.min, fn.max), both(a.max, b.max, fn.max))

    def _select(self, condition: Interval, a: Interval, b: Interval) -> Interval:
        return union(a, b)

    def _abs(self, a: Interval) -> Interval:
        if a.min is None or a.max is None:
            return UNBOUNDED
        largest = fn.max(fn.abs(a.min), fn.abs(a.max))
        return Interval(constant(0, largest.type), largest)

    def _bitwise(self, combine: Callable[[Bits, Bits], Bits], a: Interval, b: Interval) -> Interval:
        """The interval of a bitwise operator on int32 numbers."""
        known = [end for i in (a, b) for end in (i.min, i.max) if end is not None]
        if any(end.type is not Int32 for end in known):
            return UNBOUNDED
        found = combine(*(Bits(i.min, i.max, self.simplify.at_most) for i in (a, b)))
        return Interval(found.low, found.high)

    def _is_nonnegative(self, expr: Expr) -> bool:
        if isinstance(expr, Const):
            return expr.value >= 0
        return not expr.type.is_float and self.simplify.at_most(constant(0, expr.type), expr)

    def _is_positive(self, expr: Expr) -> bool:
        if isinstance(expr, Const):
            return expr.value > 0
        return not expr.type.is_float and self.simplify.at_most(constant(1, expr.type), expr)


OPERATORS: dict[str, Callable[..., Interval]] = {
    "add": OperatorIntervals._add,
    "sub": OperatorIntervals._sub,
    "mul": OperatorIntervals._mul,
    "div": OperatorIntervals._div,
    "mod": OperatorIntervals._mod,
    "min": OperatorIntervals._min,
    "max": OperatorIntervals._max,
    "select": OperatorIntervals._select,
    "abs": OperatorIntervals._abs,
    "bit_and": lambda r, a, b: r._bitwise(and_, a, b),
    "bit_or": lambda r, a, b: r._bitwise(or_, a, b),
    "bit_xor": lambda r, a, b: r._bitwise(xor, a, b),
}
"""The operators that have rules."""


def _product(a: Expr, b: Expr) -> Expr:
    """A product of two ends; that of a float and 0 or 1 is known, because no end is infinite."""
    for factor, other in ((a, b), (b, a)):
        if isinstance(factor, Const) and factor.type.is_float and factor.value in (0, 1):
            return other if factor.value else factor
    return a * b


def _around(corners: list[Expr]) -> Interval:
    """The interval between the least and the greatest of several numbers."""
    return Interval(reduce(fn.min, corners), reduce(fn.max, corners))


def magnitude(a: Interval) -> Interval:
    """The magnitudes of int32 numbers, as int32."""
    zero: Expr = constant(0, Int32)
    below = None if a.max is None else zero - a.max
    above = None if a.min is None else zero - a.min
    known = [end for end in (a.min, below) if end is not None]
    most = None if a.max is None or above is None else fn.max(a.max, above)
    return Interval(reduce(fn.max, known, zero), most)
