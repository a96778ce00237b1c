"""Normal forms of conditions on sizes: sums that are not negative, and remainders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.expressions.expr import Const, Expr, Op, Variable, compare, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.extremes import operands
from spaces.model.formulas.polynomial import Monomial, Polynomial
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.conditions import assume

LinearTerms: TypeAlias = frozenset[tuple[Monomial, int]]


@frozen
class AtLeastZero:
    """A sum that must not be negative."""

    terms: LinearTerms

    @property
    def sum(self) -> Polynomial:
        """The sum."""
        return Polynomial(dict(self.terms))


@frozen
class Divisible:
    """A sum whose remainder by a number must be at most another: 0 for a multiple."""

    dividend: LinearTerms
    divisor: int
    most: int


@frozen
class Other:
    """A condition of neither form."""

    expr: Expr


Condition: TypeAlias = AtLeastZero | Divisible | Other

_MANY = 32
"""From this many conditions on, no two are added to show that another one follows: there would be
too many pairs.
"""

_MOST_PARTS = 16
"""A condition that would have more parts than this stays whole."""


def _is_extreme(atom: Expr) -> bool:
    return isinstance(atom, Op) and atom.name in ("min", "max")


@define
class Forms:
    """Brings conditions over the sizes of one pipeline to normal forms.

    A condition that holds for all sizes has no parts.
    """

    pipeline: Pipeline
    _simplify: Simplifier = field(init=False, factory=Simplifier)
    _coordinates: tuple[Polynomial, ...] = field(init=False)
    _counts: dict[tuple[Op, bool], int] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        buffers = [(name, len(self.pipeline.function(name).args)) for name in self.pipeline.outputs]
        buffers += [(image.name, image.dimensions) for image in self.pipeline.images]
        limits: list[Polynomial] = []
        for name, d in ((name, d) for name, dimensions in buffers for d in range(dimensions)):
            low, high = constant(1, Int32), constant(Int32.max_value, Int32)
            first, extent = size_variable(name, "min", d), size_variable(name, "extent", d)
            self._simplify.assume(extent.name, low, high)
            most = Polynomial.of(Int32.max_value + 1)
            limits.append(Polynomial.of(first) + most)
            limits.append(most - Polynomial.of(first) - Polynomial.of(extent))
        self._coordinates = tuple(limits)
        for promise in self.pipeline.promises:
            assume(self._simplify, promise.condition)

    def parts(self, condition: Expr) -> Iterator[Condition]:
        """Conditions that together are ``condition``."""
        if isinstance(condition, Const) and condition.value:
            return
        if isinstance(condition, Op) and condition.type.is_bool:
            if condition.name == "and":
                for arg in condition.args:
                    yield from self.parts(arg)
                return
            left = condition.args[0]
            if condition.name in _SIGNS and left.type == Int32:
                a, b = (self._simplify.polynomial(arg) for arg in condition.args)
                for sign, offset in _SIGNS[condition.name]:
                    yield from self._at_least_zero((a - b).scaled(sign) - Polynomial.of(offset))
                return
        yield Other(condition)

    def _at_least_zero(self, sum: Polynomial) -> Iterator[Condition]:
        """Takes the minima, maxima and quotients in ``sum >= 0`` apart. Leaves a sum whole that
        multiplies minima or maxima, or that would give too many parts: the cases of each multiply.
        """
        sum = self._tidy(sum)
        if self._never_negative(sum) or self._is_of_coordinates(sum):
            return
        if any(
            _is_extreme(atom) for monomial in sum.terms if len(monomial) > 1 for atom in monomial
        ):
            yield AtLeastZero(frozenset(sum.terms.items()))
            return
        if self._parts_of(sum) > _MOST_PARTS:
            yield AtLeastZero(frozenset(sum.terms.items()))
            return
        for atom in sum.atoms:
            if not isinstance(atom, Op) or not (_is_extreme(atom) or atom.name == "div"):
                continue
            alone = sum.split(atom)
            factor = None if alone is None else alone[0].constant
            if alone is None or not factor:
                continue
            rest = alone[1]
            if atom.name == "div":
                cleared = self._cleared(atom, factor, rest)
                if cleared is not None:
                    yield from cleared
                    return
                continue
            cases = [self._tidy(self._polynomial(arg).scaled(factor) + rest) for arg in atom.args]
            if (atom.name == "min") == (factor > 0):
                for case in cases:
                    yield from self._at_least_zero(case)
                return
            if any(self._never_negative(case) for case in cases):
                return
            possible = [case for case in cases if not self._always_negative(case)]
            if len(possible) == 1:
                yield from self._at_least_zero(possible[0])
                return
        yield AtLeastZero(frozenset(sum.terms.items()))

    def _parts_of(self, sum: Polynomial) -> int:
        """An upper limit on the parts of ``sum >= 0``: the product of the cases of each added
        minimum and each subtracted maximum. Beyond :data:`_MOST_PARTS` any number that exceeds it.
        """
        count = 1
        for monomial, coefficient in sum.terms.items():
            for atom in monomial:
                if isinstance(atom, Op) and (_is_extreme(atom) or atom.name == "div"):
                    count *= self._cases_of(atom, coefficient > 0)
                    if count > _MOST_PARTS:  # in a long chain it would get too many digits
                        return count
        return count

    def _cases_of(self, atom: Op, is_added: bool) -> int:
        key = atom, is_added
        if key not in self._counts:
            values = operands(atom) if _is_extreme(atom) else atom.args[:1]
            forms = [self._polynomial(value).scaled(1 if is_added else -1) for value in values]
            counts = [self._parts_of(form) for form in forms]
            has_all = (atom.name == "min") == is_added and _is_extreme(atom)
            self._counts[key] = sum(counts) if has_all else max(counts)
        return self._counts[key]

    def _cleared(self, quotient: Op, factor: int, rest: Polynomial) -> tuple[Condition, ...] | None:
        """``factor * (n / c) + rest >= 0`` without the quotient. None if the quotient has to stay,
        for instance because numbers would exceed int32, as in a limit on the blocks of a grid.
        """
        c = quotient.args[1]
        if not isinstance(c, Const) or int(c.value) <= 0:
            return None
        divisor, n = int(c.value), self._polynomial(quotient.args[0])
        if factor in (1, -1):
            if factor == 1:  # n / c >= -rest, that is n >= -rest * c
                whole = n + rest.scaled(divisor)
            else:  # n / c <= rest, that is n <= rest * c + c - 1
                whole = rest.scaled(divisor) + Polynomial.of(divisor - 1) - n
            if all(Int32.holds(number) for number in whole.terms.values()):
                return tuple(self._at_least_zero(whole))
            return () if self._never_negative(whole) else None
        surplus = (n - rest).constant
        if factor == -divisor and surplus is not None and 0 <= surplus < divisor:
            # (rest + surplus) / c * c <= rest: rounding up adds nothing.
            return (Divisible(frozenset(rest.terms.items()), divisor, divisor - 1 - surplus),)
        return None

    def _polynomial(self, expr: Expr) -> Polynomial:
        return self._simplify.polynomial(expr)

    def _tidy(self, sum: Polynomial) -> Polynomial:
        """The sum without terms that cancel, divided by the common divisor of its terms."""
        divisor = 0
        for monomial, coefficient in sum.terms.items():
            divisor = _gcd(divisor, coefficient) if monomial else divisor
        if divisor <= 1:
            return sum
        return Polynomial({m: c // divisor for m, c in sum.terms.items() if c // divisor})

    def _never_negative(self, sum: Polynomial) -> bool:
        return self._simplify.proves_at_most(Polynomial({}), sum)

    def _is_of_coordinates(self, sum: Polynomial) -> bool:
        """Whether the sum is not negative because no buffer begins or ends beyond int32."""
        return not Int32.holds(sum.offset) and any(
            self._never_negative(sum - limit) for limit in self._coordinates
        )

    def _always_negative(self, sum: Polynomial) -> bool:
        return self._simplify.proves_at_most(sum, Polynomial.of(-1))

    def given(self, condition: Condition, exact: list[Divisible]) -> Iterator[Condition]:
        """A condition, simplified for sums that are known to be multiples."""
        if not isinstance(condition, AtLeastZero):
            yield condition
            return
        sum = condition.sum
        for known in exact:
            sum = self._divided(sum, known)
        yield from self._at_least_zero(sum)

    def _divided(self, sum: Polynomial, known: Divisible) -> Polynomial:
        """The sum, in which rounding a multiple up leaves it as it is."""
        dividend = Polynomial(dict(known.dividend))
        for atom in sum.atoms:
            if isinstance(atom, Op) and atom.name == "div" and isinstance(atom.args[1], Const):
                surplus = (self._polynomial(atom.args[0]) - dividend).constant
                alone = sum.split(atom)
                if atom.args[1].value != known.divisor or surplus is None or alone is None:
                    continue
                times, rest = alone[0].constant, alone[1]
                if 0 <= surplus < known.divisor and times and times % known.divisor == 0:
                    return dividend.scaled(times // known.divisor) + rest
        return sum

    def irredundant(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """The conditions without those that follow from others that stay."""
        kept = list(conditions)
        for condition in reversed(conditions):
            others = [other for other in kept if other != condition]
            if self._follows(condition, others):
                kept = others
        return tuple(kept)

    def _follows(self, condition: Condition, others: list[Condition]) -> bool:
        match condition:
            case AtLeastZero():
                sums = _related(condition.sum, [p for o in others for p in self._sums(o)])
                rests = [condition.sum - known for known in sums]
                if any(self._shows(rest, condition) for rest in rests):
                    return True
                if len(sums) <= _MANY:
                    return any(
                        self._shows(rest - other, condition)
                        for i, rest in enumerate(rests)
                        for other in sums[i + 1 :]
                    )
            case Divisible(dividend=dividend, divisor=divisor, most=most):
                return any(
                    isinstance(other, Divisible)
                    and other.dividend == dividend
                    and other.divisor % divisor == 0
                    and other.most <= most
                    for other in others
                )
        return False

    def _shows(self, rest: Polynomial, condition: AtLeastZero) -> bool:
        """Whether what a condition is more than known sums shows that it holds. A sum with more new
        terms than old ones shows nothing about the old ones.
        """
        return len(rest.terms) <= len(condition.terms) and self._never_negative(rest)

    def _sums(self, condition: Condition) -> Iterator[Polynomial]:
        """The sums that are not negative if a condition holds."""
        if isinstance(condition, AtLeastZero):
            yield condition.sum
        elif isinstance(condition, Divisible) and condition.most == 0:
            dividend = Polynomial(dict(condition.dividend))
            if self._simplify.proves_positive(dividend):
                yield dividend - Polynomial.of(condition.divisor)

    def expr(self, condition: Condition) -> Expr:
        """The condition as an expression, without subtractions where that is possible."""
        match condition:
            case AtLeastZero():
                return self._ordered(condition.sum)
            case Divisible(dividend=dividend, divisor=divisor, most=most):
                remainder = Polynomial(dict(dividend)).expr() % divisor
                comparison = "le" if most else "eq"
                return compare(comparison, remainder, constant(most, Int32))
            case Other(expr=expr):
                return expr

    def _ordered(self, sum: Polynomial) -> Expr:
        limit = self.single(AtLeastZero(frozenset(sum.terms.items())))
        if limit is not None:
            name, coefficient, number = limit
            comparison = "ge" if coefficient > 0 else "le"
            return compare(comparison, Variable(Int32, name), Polynomial.of(number).expr())
        left = Polynomial({m: c for m, c in sum.terms.items() if m and c > 0})
        right = Polynomial({m: -c for m, c in sum.terms.items() if m and c < 0})
        right = right - Polynomial.of(sum.offset)
        if not left.terms:
            most = Polynomial.of(sum.offset)
            return compare("le", (right + most).expr(), most.expr())
        return compare("ge", left.expr(), right.expr())

    def single(self, condition: AtLeastZero) -> tuple[str, int, int] | None:
        """(name, 1, least) or (name, -1, most) if the condition limits one size; else None."""
        factors = [(m, c) for m, c in condition.terms if m]
        if len(factors) != 1 or len(factors[0][0]) != 1:
            return None
        ((atom,), coefficient) = factors[0]
        if not isinstance(atom, Variable) or abs(coefficient) != 1:
            return None
        offset = condition.sum.offset
        return atom.name, coefficient, -offset if coefficient > 0 else offset

    def alone(self, terms: LinearTerms) -> str | None:
        """The name of the size that a sum consists of, or None."""
        if len(terms) != 1:
            return None
        ((monomial, coefficient),) = terms
        is_name = coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Variable)
        return monomial[0].name if is_name and isinstance(monomial[0], Variable) else None


_SIGNS = {
    # name: for each part the sign of `left - right`, and the least value of this difference
    "ge": ((1, 0),),
    "gt": ((1, 1),),
    "le": ((-1, 0),),
    "lt": ((-1, 1),),
    "eq": ((1, 0), (-1, 0)),
}


def _related(sum: Polynomial, others: list[Polynomial]) -> list[Polynomial]:
    """The other sums that share a variable with ``sum``, directly or through further sums."""
    known = set(sum.atoms)
    near = [other for other in others if known & set(other.atoms)]
    known.update(atom for other in near for atom in other.atoms)
    return [other for other in others if known & set(other.atoms)]


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)
