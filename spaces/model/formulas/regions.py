"""Interval analysis: the values of an expression while its variables range [RK13 4.2]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from typing import Literal, TypeAlias

from attrs import define, field

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import (
    Call,
    Cast,
    Const,
    Expr,
    Op,
    Text,
    Variable,
    cast,
    constant,
    walk,
)
from spaces.model.expressions.intrinsics import BIT_COUNTS
from spaces.model.expressions.types import Int32, Type, UInt32
from spaces.model.formulas.algebra import INTEGERS, FormulaError, evaluate
from spaces.model.formulas.corners import CORNERS
from spaces.model.formulas.extremes import EXTREMES, is_part, operands
from spaces.model.formulas.float_values import (
    GROWING,
    has_loops,
    has_value,
    is_limited,
    made_from_floats,
)
from spaces.model.formulas.interval import UNBOUNDED, Interval
from spaces.model.formulas.interval_operators import OPERATORS, OperatorIntervals, magnitude
from spaces.model.formulas.narrowing import narrowed
from spaces.model.formulas.polynomial import Monomial, Polynomial
from spaces.model.formulas.simplify import Simplifier


class UnboundedError(ValueError):
    """The coordinates of a read have no limits; ``func`` is the Func that reads."""

    def __init__(self, message: str, func: str) -> None:
        super().__init__(message)
        self.func = func


End: TypeAlias = Literal["min", "max"]

_PolynomialEnds: TypeAlias = tuple[Polynomial | None, Polynomial | None]

_OTHER: dict[End, End] = {"min": "max", "max": "min"}

_MOST_DEPTH = 40
"""The depth of recursion for one end of a formula; deeper parts get both ends, bottom-up."""


@define
class Ranges:
    """Interval analysis under given ranges of some variables; all other variables are fixed.
    ``values`` gives the interval of a read of a Func or image. No value counts for which one of
    ``claims`` is negative: ends of sums may then lie closer together, or apart the wrong way if
    there is no other value.
    """

    simplify: Simplifier
    ranges: Mapping[str, Interval]
    values: Callable[[Call], Interval] = field(default=lambda call: UNBOUNDED)
    claims: tuple[Expr, ...] = ()
    _done: dict[Expr, Interval] = field(factory=dict)
    _ends: dict[tuple[Expr, End], Expr | None] = field(factory=dict)
    _operators: OperatorIntervals = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._operators = OperatorIntervals(self.simplify)

    def of(self, expr: Expr) -> Interval:
        """An interval that contains every value of ``expr``; exact on affine expressions."""
        expr = self.simplify(expr)
        if self._is_fixed(expr):
            return _fixed(expr)
        known = self._done.get(expr)
        if known is not None:
            return known
        for node in walk(expr, known=self._done):
            if node is expr or not (_is_sum(node) or is_part(node)):
                self._done[node] = self._node(node)
        return self._done[expr]

    def least(self, expr: Expr) -> Expr | None:
        """The lower end of :meth:`of`; it may exist where the upper end has no bound."""
        return self._end(self.simplify(expr), "min", 0)

    def most(self, expr: Expr) -> Expr | None:
        """The upper end of :meth:`of`; it may exist where the lower end has no bound."""
        return self._end(self.simplify(expr), "max", 0)

    def _end(self, expr: Expr, end: End, depth: int) -> Expr | None:
        if self._is_fixed(expr):
            return _at(_fixed(expr), end)
        # Values that are read may wrap; only both ends together can exclude it.
        if expr.loads or expr in self._done or depth == _MOST_DEPTH:
            return _at(self.of(expr), end)
        key = (expr, end)
        if key not in self._ends:
            self._ends[key] = self._found_end(expr, end, depth + 1)
        return self._ends[key]

    def _found_end(self, expr: Expr, end: End, depth: int) -> Expr | None:
        if _is_sum(expr):
            return self._end_of_sum(expr, end, depth)
        if isinstance(expr, Op) and expr.name in EXTREMES and expr.type is Int32:
            found = [self._end(operand, end, depth) for operand in operands(expr)]
            known = [value for value in found if value is not None]
            # A lower limit of a min needs a lower limit of every operand; a max needs upper ones.
            if not known or (expr.name == end and len(known) < len(found)):
                return None
            return _useful(self.simplify(reduce(fn.min if expr.name == "min" else fn.max, known)))
        return _at(self.of(expr), end)

    def _end_of_sum(self, expr: Expr, end: End, depth: int) -> Expr | None:
        total, moving = self._taken_apart(expr)
        for monomial, coefficient in moving.items():
            if len(monomial) > 1:
                term = self._term(monomial, coefficient)[0 if end == "min" else 1]
            else:
                value = self._end(monomial[0], end if coefficient > 0 else _OTHER[end], depth)
                term = None if value is None else self.simplify.polynomial(value)
                term = None if term is None else term.scaled(coefficient)
            if term is None:
                return None
            total = total + term
        return self._claimed(expr, end, self._written(total))

    def _claimed(self, expr: Expr, end: End, found: Expr | None) -> Expr | None:
        """An end of a sum, closer if claims imply it. Where ``k >= 0``, no value of ``a`` exceeds
        ``a + k``, in which terms may cancel.
        """
        bounds = [] if found is None else [found]
        for claim in self.claims:
            bounds += self._by_claim(self.simplify.polynomial(expr), end, claim)
        if not bounds:
            return None
        closest = fn.max if end == "min" else fn.min
        return bounds[0] if len(bounds) == 1 else self.simplify(reduce(closest, bounds))

    def _by_claim(self, form: Polynomial, end: End, claim: Expr) -> Iterator[Expr]:
        """Yields ends of a sum that follow from a claim and others, one for each term that cancels:
        of ``n`` times the sum, plus or minus the claim.
        """
        condition, sign = self.simplify.polynomial(claim), 1 if end == "max" else -1
        others = Ranges(
            self.simplify,
            self.ranges,
            self.values,
            tuple(other for other in self.claims if other is not claim),
        )
        for monomial, coefficient in form.terms.items():
            slope = condition.terms.get(monomial, 0) * sign
            if coefficient * slope >= 0 or all(map(self._is_fixed, monomial)):
                continue
            whole = form.scaled(abs(slope)).plus(condition, abs(coefficient) * sign)
            most = others._end(self.simplify.normal(whole), end, 1)
            if most is not None and end == "max":
                yield self.simplify(most / abs(slope))
            elif most is not None:
                yield self.simplify(-(-most / abs(slope)))

    def _node(self, node: Expr) -> Interval:
        if isinstance(node, Const):
            return Interval.point(node)
        if isinstance(node, Variable):
            return self.ranges.get(node.name) or Interval.point(node)
        if _is_sum(node):
            return self._sum(node)
        whole = narrowed(node)
        if whole is not None:
            return self.of(whole)
        found = self._simplified(self._with_numbers(node, self._operation(node)))
        if node.type is not Int32:
            return found
        return Interval(_useful(found.min), _useful(found.max))

    def _with_numbers(self, node: Expr, found: Interval) -> Interval:
        """``found`` with numbers from the known ranges in place of its unknown ends."""
        if node.type is not Int32 or not isinstance(node, Op) or found.is_bounded:
            return found
        if node.loads and node.name not in ("mod", *BIT_COUNTS):
            return found  # values that are read may have wrapped before
        low, high = self.simplify.numbers(node)
        return Interval(
            constant(low, Int32) if found.min is None and low is not None else found.min,
            constant(high, Int32) if found.max is None and high is not None else found.max,
        )

    def _simplified(self, interval: Interval) -> Interval:
        if interval.is_point and interval.min is not None:
            return Interval.point(self.simplify(interval.min))
        return Interval(
            None if interval.min is None else _picked(self.simplify(interval.min)),
            None if interval.max is None else _picked(self.simplify(interval.max)),
        )

    def _sum(self, node: Expr) -> Interval:
        """The interval of integer arithmetic, term by term of its normal form."""
        fixed, moving = self._taken_apart(node)
        if any(atom is node for monomial in moving for atom in monomial):
            return UNBOUNDED  # a sum of values that are read, which the normal form keeps whole
        terms = {m: self._term(m, coefficient) for m, coefficient in moving.items()}
        if node.loads and self._may_wrap(self.simplify.polynomial(node), terms):
            return UNBOUNDED  # sums of values that are read may wrap
        low: Polynomial | None = fixed
        high: Polynomial | None = fixed
        for least, most in terms.values():
            low = None if low is None or least is None else low + least
            high = None if high is None or most is None else high + most
        ends = (None if end is None else self._written(end) for end in (low, high))
        found = Interval(*ends)
        if not self.claims or node.loads:
            return found
        return Interval(
            self._claimed(node, "min", found.min), self._claimed(node, "max", found.max)
        )

    def _written(self, end: Polynomial) -> Expr | None:
        """An end as an expression; None for a number beyond int32, which limits nothing."""
        if end.constant is not None and not Int32.holds(end.constant):
            return None
        return _useful(self.simplify.normal(end))

    def _may_wrap(self, form: Polynomial, terms: Mapping[Monomial, _PolynomialEnds]) -> bool:
        """Whether a sum of values that are read may exceed int32. ``terms`` holds the ends of the
        terms that are not fixed.
        """
        least_number = most_number = form.offset
        may_wrap = False
        for monomial, (least, most) in terms.items():
            is_data = any(atom.loads for atom in monomial)
            factor = abs(form.terms[monomial]) if is_data else 1
            least_number += _as_number(least, factor * Int32.min_value)
            most_number += _as_number(most, factor * Int32.max_value)
            # An unknown value beside other terms; or a read value times coordinates or sizes.
            is_open = len(terms) > 1 and (least is None or most is None)
            is_scaled = len(monomial) > 1 and not (_is_number(least) and _is_number(most))
            may_wrap = may_wrap or (is_data and (is_open or is_scaled))
        may_wrap = may_wrap or not (Int32.holds(least_number) and Int32.holds(most_number))
        return may_wrap and not self.simplify.never_wrap(form)

    def _taken_apart(self, node: Expr) -> tuple[Polynomial, dict[Monomial, int]]:
        """The fixed terms of a sum, and the other terms."""
        form = self.simplify.polynomial(node)
        moving = {m: c for m, c in form.terms.items() if not all(map(self._is_fixed, m))}
        fixed = {m: c for m, c in form.terms.items() if m not in moving}
        return Polynomial(fixed), moving

    def _is_fixed(self, expr: Expr) -> bool:
        """Whether ``expr`` has one value for all values of the ranged variables, and a formula can
        express it.
        """
        return not expr.loads and expr.names.isdisjoint(self.ranges) and not _is_unknown(expr)

    def _term(self, monomial: Monomial, coefficient: int) -> _PolynomialEnds:
        """The ends of one term of a sum."""
        factors = [self.of(atom) for atom in monomial]
        moving = [i for i in factors if not i.is_point]
        fixed = Polynomial.of(coefficient)
        for factor in factors:
            if factor.is_point and factor.min is not None:
                fixed = fixed * self.simplify.polynomial(factor.min)
        if not moving:
            return fixed, fixed
        interval = moving[0]
        for other in moving[1:]:
            interval = self._operators.of("mul", interval, other)
        low = None if interval.min is None else self.simplify.polynomial(interval.min) * fixed
        high = None if interval.max is None else self.simplify.polynomial(interval.max) * fixed
        if self.simplify.proves_at_most(Polynomial({}), fixed):
            return low, high
        if self.simplify.proves_at_most(fixed, Polynomial({})):
            return high, low
        if low is None or high is None:
            return None, None
        ends = (self.simplify.normal(low), self.simplify.normal(high))
        least, most = self.simplify(fn.min(*ends)), self.simplify(fn.max(*ends))
        return self.simplify.polynomial(least), self.simplify.polynomial(most)

    def _operation(self, node: Expr) -> Interval:
        if isinstance(node, Op) and is_part(node):
            return reduce(partial(self._operators.of, node.name), map(self.of, operands(node)))
        limits = [self.of(c) for c in node.children]
        if not isinstance(node, Call) and all(i.is_point for i in limits):
            points = tuple(i.min for i in limits if i.min is not None)
            return _fixed(node.with_children(points))
        if isinstance(node, Call):
            return _within(self.values(node), node.type)
        if isinstance(node, Cast):
            return self._cast(node, limits[0])
        narrow = _of_numbers(node, limits)
        if narrow is not None:
            return narrow
        if isinstance(node, Op) and node.name in GROWING:
            return self._monotone(lambda end: node.with_children((end,)), limits[0])
        if isinstance(node, Op) and node.name in OPERATORS and self._is_exact(node):
            interval = self._operators.of(node.name, *limits)
            return interval if interval.is_bounded else _within(interval, node.type)
        return _type_range(node.type)

    @staticmethod
    def _is_exact(node: Op) -> bool:
        """Whether the operator cannot wrap: it works on int32 coordinates or floats, or it returns
        an operand or a magnitude.
        """
        wraps = not node.type.is_float and node.type != Int32
        return not wraps or node.name in ("min", "max", "select", "abs")

    def _cast(self, node: Cast, value: Interval) -> Interval:
        to, source = node.type, node.value.type
        # The magnitude of an int32 coordinate is unsigned, but fits int32.
        is_magnitude = (
            isinstance(node.value, Op)
            and node.value.name == "abs"
            and self._has_magnitude(node.value.children[0])
        )
        if is_magnitude and to is Int32 and node.value.children[0].type is Int32:
            return magnitude(self.of(node.value.children[0]))
        low, high = value.min, value.max
        if low is None or high is None or (to.is_float and source.is_float):
            return _type_range(to)
        if to.is_float:
            return self._monotone(partial(cast, to), value)
        fits = not source.is_float and source.bits <= 32 and (source != UInt32 or is_magnitude)
        if to == Int32 and fits:
            return Interval(cast(to, low), cast(to, high))
        if isinstance(low, Const) and isinstance(high, Const):
            first, last = int(low.value), int(high.value)
            if to.holds(first) and to.holds(last):
                return Interval(constant(first, to), constant(last, to))
        elif source.is_float and to is Int32:
            return self._monotone(partial(cast, to), value)
        return _type_range(to)

    @staticmethod
    def _monotone(function: Callable[[Expr], Expr], value: Interval) -> Interval:
        """The interval of a function that never decreases, of a float or to one. A NaN may
        lie outside; while the floats of a call have limits, no value is NaN.
        """
        if value.min is None or value.max is None:
            return UNBOUNDED
        ends = (function(value.min), function(value.max))
        floats = [end if end.type.is_float else end.children[0] for end in ends if end.children]
        return Interval(*ends) if all(map(is_limited, floats)) else UNBOUNDED

    def _has_magnitude(self, number: Expr) -> bool:
        """Whether the magnitude of a number fits int32: that of a value which is read may not."""
        if not number.loads or number.type.bits < 32:
            return True
        least = self.of(number).min
        return isinstance(least, Const) and int(least.value) > Int32.min_value


def _at(interval: Interval, end: End) -> Expr | None:
    return interval.min if end == "min" else interval.max


def _picked(end: Expr) -> Expr:
    """The value of a min or max of two numbers of a narrow type; a normal form does not fold it."""
    match end:
        case Op(name="min" | "max", args=(Const(value=a), Const(value=b))):
            return constant(INTEGERS.operators[end.name](a, b), end.type)
    return end


def _of_numbers(node: Expr, limits: list[Interval]) -> Interval | None:
    """The interval of an integer operator whose operands have numbers as ends; None if the operator
    may wrap, or an end is not a number.
    """
    if not isinstance(node, Op) or node.name not in CORNERS or node.type.is_float:
        return None
    numbers = []
    for limit in limits:
        match limit:
            case Interval(min=Const() as low, max=Const() as high) if not low.type.is_float:
                numbers.append((int(low.value), int(high.value)))
            case _:
                return None
    found = CORNERS[node.name](node.type, *numbers)
    if found is None or not (node.type.holds(found[0]) and node.type.holds(found[1])):
        return None
    return Interval(constant(found[0], node.type), constant(found[1], node.type))


def _is_sum(node: Expr) -> bool:
    """Whether a node is a sum, difference or product of int32, which a normal form expands."""
    return isinstance(node, Op) and node.type is Int32 and node.name in ("add", "sub", "mul")


def _within(interval: Interval, type: Type) -> Interval:
    """``interval`` with the limits of a narrow type in place of its unknown ends."""
    limits = _type_range(type)
    return Interval(
        limits.min if interval.min is None else interval.min,
        limits.max if interval.max is None else interval.max,
    )


def _useful(end: Expr | None) -> Expr | None:
    """An end of int32 numbers; None for the smallest and the largest int32, which limit nothing: no
    array has that many elements.
    """
    if not isinstance(end, Const) or Int32.min_value < end.value < Int32.max_value:
        return end
    return None


def _is_number(end: Polynomial | None) -> bool:
    return end is not None and end.constant is not None


def _as_number(end: Polynomial | None, unknown: int) -> int:
    """The constant part of an end. Coordinates and sizes do not count: sums of them do not wrap."""
    return unknown if end is None else end.offset


def _is_unknown(expr: Expr) -> bool:
    """Whether ``expr`` uses arithmetic of floats that formulas do not have, but no loop variable.
    Conditions on a call are formulas; values with loop variables are computed inside the loops.
    Comparisons of floats are unknown, too: both cases of a choice by one count, which proofs know.
    """
    if not expr.has_floats or has_loops(expr):
        return False
    is_compared = not expr.type.is_float and any(
        node.type.is_bool for node in made_from_floats(expr)
    )
    return is_compared or not has_value(expr)


def _fixed(expr: Expr) -> Interval:
    """The interval of an expression with one value; arithmetic on numbers alone becomes a number.
    Arithmetic of floats that formulas do not have gives the whole range of the type.
    """
    if isinstance(expr, Const | Text):
        return Interval.point(expr)
    if _is_unknown(expr):
        return _type_range(expr.type)
    if expr.names or expr.type.is_float:
        return Interval.point(expr)
    try:
        value = evaluate(expr, {})
    except FormulaError:
        return _type_range(expr.type)
    return Interval.point(constant(value, expr.type) if expr.type.holds(value) else expr)


def _type_range(type: Type) -> Interval:
    """All values of a narrow integer type; unbounded for wider types, whose limits are too far to
    bound a region.
    """
    if type.is_float or type.bits > 16:
        return UNBOUNDED
    return Interval(constant(type.min_value, type), constant(type.max_value, type))
