"""Sums of products of integer atoms: the normal form in which index arithmetic cancels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen

from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant
from spaces.model.expressions.types import Int32

Monomial: TypeAlias = tuple[Expr, ...]
"""A product of atoms in stable order; the empty product is 1."""


_LEAST, _MOST = Int32.min_value, Int32.max_value


def _order(atom: Expr) -> tuple[int, str, int]:
    return (0, atom.name, 0) if isinstance(atom, Variable) else (1, "", atom.digest)


@frozen
class Polynomial:
    """An integer polynomial: the coefficient (never 0) of each monomial."""

    terms: Mapping[Monomial, int]

    @staticmethod
    def of(value: int | Expr) -> Polynomial:
        """The polynomial of a single number or atom."""
        if isinstance(value, int):
            return Polynomial({(): value} if value else {})
        if isinstance(value, Const):
            return Polynomial.of(int(value.value))
        return Polynomial({(value,): 1})

    @property
    def constant(self) -> int | None:
        """The value of a constant polynomial; None for others."""
        if not self.terms:
            return 0
        return self.terms[()] if len(self.terms) == 1 and () in self.terms else None

    @property
    def offset(self) -> int:
        """The term without atoms."""
        return self.terms.get((), 0)

    @property
    def atoms(self) -> tuple[Expr, ...]:
        """The atoms of all monomials, each once."""
        return tuple(dict.fromkeys(a for m in self.terms for a in m))

    @property
    def names(self) -> frozenset[str]:
        """Names of the variables in all atoms."""
        found: frozenset[str] = frozenset()
        return found.union(*(a.names for m in self.terms for a in m))

    def __add__(self, other: Polynomial) -> Polynomial:
        return self.plus(other, 1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self.plus(other, -1)

    def plus(self, other: Polynomial, times: int) -> Polynomial:
        """``self + times * other``."""
        if not other.terms or not times:
            return self
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) + coefficient * times
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Polynomial(terms)

    def scaled(self, factor: int) -> Polynomial:
        """``factor * self``."""
        if factor == 1:
            return self
        return Polynomial({m: c * factor for m, c in self.terms.items()} if factor else {})

    def __mul__(self, other: Polynomial) -> Polynomial:
        for number, form in ((self.constant, other), (other.constant, self)):
            if number is not None:
                return form.scaled(number)
        result = Polynomial({})
        for m1, c1 in self.terms.items():
            product = {tuple(sorted((*m1, *m2), key=_order)): c2 for m2, c2 in other.terms.items()}
            result = result.plus(Polynomial(product), c1)
        return result

    def split(self, atom: Expr) -> tuple[Polynomial, Polynomial] | None:
        """``(a, b)`` with ``self = a * atom + b``, neither with ``atom`` as a factor; None if the
        atom occurs in a higher power.
        """
        alone = self.alone(atom)
        if alone is not None:
            return Polynomial({(): alone[0]}), alone[1]
        linear: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            places = [i for i, a in enumerate(monomial) if a is atom]
            if len(places) > 1:
                return None
            if places:
                linear[(*monomial[: places[0]], *monomial[places[0] + 1 :])] = coefficient
            else:
                rest[monomial] = coefficient
        return Polynomial(linear), Polynomial(rest)

    def alone(self, atom: Expr) -> tuple[int, Polynomial] | None:
        """``(c, b)`` with ``self = c * atom + b`` for a number ``c`` other than 0; None if ``atom``
        has other factors beside it, or does not occur.
        """
        for monomial in self.terms:
            if len(monomial) > 1 and any(a is atom for a in monomial):
                return None
        rest = dict(self.terms)
        coefficient = rest.pop((atom,), 0)
        return (coefficient, Polynomial(rest)) if coefficient else None

    def common(self, other: Polynomial) -> Polynomial:
        """The part that may move out of a min or select of the two: the terms that both have, and
        the offset nearer to zero.
        """
        shared = {m: c for m, c in self.terms.items() if m and other.terms.get(m) == c}
        offset = min(self.offset, other.offset, key=lambda o: (abs(o), o))
        return Polynomial(shared) + Polynomial.of(offset)

    def expr(self) -> Expr:
        """The polynomial as an int32 expression, positive terms first."""
        result: Expr | None = None
        terms = self._sorted()
        for negative in (False, True):
            for monomial, coefficient in terms:
                if (coefficient < 0) is not negative:
                    continue
                term = _product(monomial, abs(coefficient))
                if result is None:
                    result = term if not negative else _product(monomial, coefficient)
                else:
                    result = Op(Int32, "sub" if negative else "add", (result, term))
        return constant(0, Int32) if result is None else result

    def _sorted(self) -> list[tuple[Monomial, int]]:
        """The terms in order of their atoms, the constant last."""
        terms = list(self.terms.items())
        if len(terms) > 1:
            terms.sort(key=lambda t: (not t[0], [_order(a) for a in t[0]]))
        return terms


def _literal(number: int) -> Expr:
    """A number as an expression; beyond int32, a sum of products of literals."""
    if _LEAST <= number <= _MOST:
        return constant(number, Int32)
    sign = 1 if number > 0 else -1
    high, low = divmod(abs(number), Int32.max_value)
    large: Expr = constant(sign * Int32.max_value, Int32)
    if high > 1:
        large = Op(Int32, "mul", (_literal(high), large))
    return Op(Int32, "add", (large, constant(sign * low, Int32))) if low else large


def _product(monomial: Monomial, coefficient: int) -> Expr:
    if not monomial:
        return _literal(coefficient)
    result: Expr = monomial[0]
    for atom in monomial[1:]:
        result = Op(Int32, "mul", (result, atom))
    if coefficient != 1:
        result = Op(Int32, "mul", (result, _literal(coefficient)))
    return result


def multiples(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """``(q, r)`` with ``a = q * b + r``: moves the terms of ``a`` that ``b`` divides into ``q``. If
    ``b`` is a sum, it does so only if ``r`` has fewer terms than ``a``.
    """
    if not b.terms:
        return Polynomial({}), a
    if len(b.terms) > 1:
        return _multiples_of_sum(a, b)
    return _multiples_of_term(a, *next(iter(b.terms.items())))


def _multiples_of_sum(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Long division by the term with the most atoms. It counts, for instance, the rows of fused
    loops: ``n * m + n + m`` divided by ``m + 1``.
    """
    lead = max(b.terms, key=lambda m: (len(m), [_order(x) for x in m]))
    quotient, rest = Polynomial({}), a
    for _ in a.terms:
        whole, _ = _multiples_of_term(rest, lead, b.terms[lead])
        if not whole.terms:
            break
        quotient, rest = quotient + whole, rest - whole * b
    return (quotient, rest) if len(rest.terms) < len(a.terms) else (Polynomial({}), a)


def _multiples_of_term(
    a: Polynomial, monomial: Monomial, divisor: int
) -> tuple[Polynomial, Polynomial]:
    quotient: dict[tuple[Expr, ...], int] = {}
    rest: dict[tuple[Expr, ...], int] = {}
    for term, coefficient in a.terms.items():
        left = _without(term, monomial) if monomial else term
        if left is None:
            rest[term] = coefficient
            continue
        whole, over = divmod(coefficient, divisor)
        if whole:
            quotient[left] = whole
        if over:
            rest[term] = over
    return Polynomial(quotient), Polynomial(rest)


def _without(term: Monomial, monomial: Monomial) -> Monomial | None:
    """The factors of ``term`` beside those of ``monomial``; None if it lacks one of them."""
    left = list(term)
    for atom in monomial:
        for place, factor in enumerate(left):
            if factor is atom:
                del left[place]
                break
        else:
            return None
    return tuple(left)
