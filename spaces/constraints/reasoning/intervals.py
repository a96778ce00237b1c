"""Cheap proofs without a solver, by ranges and the arithmetic of polynomials.

A lower limit of the polynomial ``p`` shows ``p >= 0``, if necessary after subtracting a hypothesis
``q >= 0``, or in both cases of a minimum, a maximum or a selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from spaces.constraints.reasoning.formulas import conjuncts
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Op, Variable
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.simplify import Simplifier

_Limits: TypeAlias = dict[str, tuple[Expr | None, Expr | None]]

MAX_CASES = 4
"""The deepest nesting of minima, maxima and selections that is taken apart."""

MAX_TRIES = 32
"""The most polynomials that are tried for one goal. Nine of ten provable goals take at most 4; a
solver is quicker for the others.
"""

_ONE = Polynomial.of(1)
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


class Intervals:
    """Proves conditions from hypotheses."""

    def __init__(self, hypotheses: Iterable[Expr]) -> None:
        self.given = tuple(c for h in hypotheses for c in conjuncts(h))
        self._known = frozenset(self.given)
        self._simplify = Simplifier()
        self._facts: list[Polynomial] = []
        self._congruent: list[tuple[Polynomial, Polynomial]] = []
        self._tries = 0
        self._unequal: Op | None = None
        ranges: _Limits = {}
        for condition in [c for c in self.given if not self._range(c, ranges)]:
            self._note(condition)

    def _range(self, condition: Expr, ranges: _Limits) -> bool:
        """Whether a condition limits one variable; if so, puts the limit into ``ranges``."""
        if not isinstance(condition, Op) or condition.name not in _MIRRORED:
            return False
        name, (a, b) = condition.name, self._isolated(condition)
        # The beginning of a buffer limits coordinates, not the other way round.
        sides = sorted(((a, b, name), (b, a, _MIRRORED[name])), key=lambda side: _is_size(side[0]))
        for variable, other, order in sides:
            if isinstance(variable, Variable) and _is_earlier(other, variable, ranges):
                low, high = ranges.get(variable.name, (None, None))
                if order in ("ge", "gt"):
                    bound = other + 1 if order == "gt" else other
                    low = self._simplify(bound if low is None else fn.max(low, bound))
                else:
                    bound = other - 1 if order == "lt" else other
                    high = self._simplify(bound if high is None else fn.min(high, bound))
                ranges[variable.name] = (low, high)
                self._simplify.assume(variable.name, low, high)
                return True
        return False

    def _isolated(self, condition: Op) -> tuple[Expr, Expr]:
        """The sides of a comparison, with a variable alone on one side if the rest is numbers."""
        a, b = condition.args
        if isinstance(a, Variable) or isinstance(b, Variable) or a.type != Int32:
            return a, b
        difference = self._polynomial(a) - self._polynomial(b)
        for variable in difference.atoms if len(difference.terms) <= 2 else ():
            number = Polynomial.of(variable) - difference
            if isinstance(variable, Variable) and number.constant is not None:
                return variable, number.expr()
            number = Polynomial.of(variable) + difference
            if isinstance(variable, Variable) and number.constant is not None:
                return number.expr(), variable
        return a, b

    def _note(self, condition: Expr) -> None:
        if not isinstance(condition, Op):
            return
        sides = [a for a in condition.args if a.type == Int32]
        if len(sides) != 2:
            return
        a, b = sides
        if condition.name in _MIRRORED:
            self._facts.append(self._difference(condition.name, a, b))
        elif condition.name == "eq":
            self._facts += [self._difference("le", a, b), self._difference("ge", a, b)]
            if _is_modulo(a) and _is_modulo(b) and a.children[1] is b.children[1]:
                apart = self._polynomial(a.children[0]) - self._polynomial(b.children[0])
                self._congruent.append((apart, self._polynomial(a.children[1])))
        elif condition.name == "ne" and self._unequal is None:
            self._unequal = condition

    def _polynomial(self, expr: Expr) -> Polynomial:
        return self._simplify.polynomial(expr)

    def _difference(self, name: str, a: Expr, b: Expr) -> Polynomial:
        """The polynomials that are at least 0 if ``a name b`` holds."""
        p, q = self._polynomial(a), self._polynomial(b)
        above = p - q if name in ("ge", "gt") else q - p
        return above - _ONE if name in ("lt", "gt") else above

    def simplified(self, condition: Expr) -> Expr:
        """A condition that is equivalent under the hypotheses. Products and quotients of sizes
        cancel here; no solver sees that.
        """
        return self._simplify(condition)

    def prove(self, goal: Expr) -> bool:
        """Whether ``goal`` provably follows."""
        self._tries = 0
        if self._shows(goal):
            return True
        if self._unequal is None:
            return False
        others = tuple(h for h in self.given if h is not self._unequal)
        return all(
            Intervals((*others, Op(Bool, name, self._unequal.args)))._shows(goal)
            for name in ("lt", "gt")
        )

    def _shows(self, goal: Expr) -> bool:
        if isinstance(goal, Const):
            return bool(goal.value)
        if goal in self._known:
            return True
        if not isinstance(goal, Op):
            return False
        if goal.name == "and":
            return all(self._shows(c) for c in conjuncts(goal))
        if goal.name == "or":
            return any(self._shows(a) for a in goal.args)
        if goal.name == "not":
            return self._excludes(goal.args[0])
        if goal.args[0].type != Int32:
            return False
        return self._compares(goal.name, *goal.args)

    def _excludes(self, condition: Expr) -> bool:
        if isinstance(condition, Const):
            return not condition.value
        if not isinstance(condition, Op):
            return False
        if condition.name == "and":
            return any(self._excludes(c) for c in conjuncts(condition))
        if condition.name == "or":
            return all(self._excludes(a) for a in condition.args)
        if condition.name == "not":
            return self._shows(condition.args[0])
        if condition.args[0].type != Int32:
            return False
        return self._compares(_OPPOSITE[condition.name], *condition.args)

    def _compares(self, name: str, a: Expr, b: Expr) -> bool:
        if name == "eq":
            return self._equal(self._polynomial(a) - self._polynomial(b))
        if name == "ne":
            return any(self._at_least_zero(self._difference(n, a, b)) for n in ("lt", "gt"))
        return self._at_least_zero(self._difference(name, a, b))

    def _equal(self, apart: Polynomial) -> bool:
        """Whether a difference is 0: literally, or because it is a multiple of a larger number."""
        if self._at_least_zero(apart) and self._at_least_zero(apart.scaled(-1)):
            return True
        for multiple, modulus in self._congruent:
            if multiple.terms == apart.terms or multiple.terms == apart.scaled(-1).terms:
                room = modulus - _ONE
                if self._at_least_zero(room - apart) and self._at_least_zero(room + apart):
                    return True
        return False

    def _at_least_zero(self, p: Polynomial, cases: int = MAX_CASES) -> bool:
        if self._positive_limit(p):
            return True
        if any(self._positive_limit(p - fact) for fact in self._facts):
            return True
        if cases == 0 or self._tries >= MAX_TRIES:
            return False
        for needs_all, alternatives in self._cases(p):
            holds = (self._at_least_zero(q, cases - 1) for q in alternatives)
            if all(holds) if needs_all else any(holds):
                return True
        return False

    def _positive_limit(self, p: Polynomial) -> bool:
        self._tries += 1
        low = self._simplify.lower(p)
        return low is not None and low >= 0

    def _cases(self, p: Polynomial) -> Iterator[tuple[bool, list[Polynomial]]]:
        """Polynomials in place of ``p``, each list with whether all of it must hold or one
        suffices.
        """
        for atom in p.atoms:
            if not isinstance(atom, Op) or atom.name not in ("min", "max", "select", "div"):
                continue
            parts = p.split(atom)
            coefficient = None if parts is None else parts[0].constant
            if parts is None or coefficient is None:
                continue
            if atom.name == "div":
                yield from self._quotients(p, atom, coefficient)
                continue
            values = [self._polynomial(a) for a in atom.args[-2:]]
            in_place = [v.scaled(coefficient) + parts[1] for v in values]
            yield atom.name == "select" or (atom.name == "min") == (coefficient > 0), in_place

    def _quotients(
        self, p: Polynomial, atom: Op, coefficient: int
    ) -> Iterator[tuple[bool, list[Polynomial]]]:
        """``a / c - b / c + k >= 0`` because ``a + k * c >= b``."""
        for other in p.atoms:
            is_pair = isinstance(other, Op) and other.name == "div" and other is not atom
            if coefficient <= 0 or not is_pair or other.children[1] is not atom.args[1]:
                continue
            divisor = self._polynomial(atom.args[1])
            rest = p - (Polynomial.of(atom) - Polynomial.of(other)).scaled(coefficient)
            if rest.constant is None or not self._positive_limit(divisor - _ONE):
                continue
            shift = divisor.scaled(rest.constant // coefficient)
            above = self._polynomial(atom.args[0]) + shift
            yield True, [above - self._polynomial(other.children[0])]


def _is_earlier(other: Expr, variable: Variable, ranges: _Limits) -> bool:
    """Whether a limit mentions only variables that come before this one, so that limits form no
    circle.
    """
    mentioned = other.names
    if variable.name in mentioned:
        return False
    if variable.name not in ranges:
        return True
    names = list(ranges)
    position = names.index(variable.name)
    return all(n not in ranges or names.index(n) < position for n in mentioned)


def _is_size(expr: Expr) -> bool:
    return isinstance(expr, Variable) and (".min." in expr.name or ".extent." in expr.name)


def _is_modulo(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.name == "mod"
