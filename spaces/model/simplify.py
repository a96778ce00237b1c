"""Simplification of index arithmetic under known ranges of its variables.

Integers of type int32 are treated as mathematical integers, as Halide treats coordinates.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from spaces.model.algebra import INTEGERS
from spaces.model.expr import Call, Cast, Const, Expr, Op, Variable, cast, constant, walk
from spaces.model.polynomial import Monomial, Polynomial
from spaces.model.types import Bool, Int32

_COMPARISONS: dict[str, tuple[int, Callable[[int], bool]]] = {
    # name: (what `left - right` must be at least for the comparison to hold; its test on a number)
    "lt": (1, lambda d: d < 0),
    "le": (0, lambda d: d <= 0),
    "gt": (1, lambda d: d > 0),
    "ge": (0, lambda d: d >= 0),
    "eq": (0, lambda d: d == 0),
    "ne": (0, lambda d: d != 0),
}


_FLOAT_FOLDS = ("add", "sub", "mul", "min", "max")


@define
class Simplifier:
    """Simplifies expressions, remembering results and the ranges of variables.

    Size variables (``B.extent.D``) are at least 1; loop variables and parameters of schedule
    families are given by :meth:`assume` before they are used.
    """

    _ranges: dict[str, tuple[Expr | None, Expr | None]] = field(factory=dict)
    _done: dict[Expr, Expr] = field(factory=dict)
    _polynomials: dict[Expr, Polynomial] = field(factory=dict)
    _lowers: dict[tuple[frozenset[tuple[Monomial, int]], int], int | None] = field(factory=dict)

    def assume(self, name: str, low: Expr | None, high: Expr | None) -> None:
        """Variable ``name`` lies in ``low .. high``, both inclusive; None is no limit."""
        if self._ranges.get(name) != (low, high):
            self._ranges[name] = (low, high)
            self._lowers.clear()

    def copy(self) -> Simplifier:
        """A simplifier with the same limits, free to assume others for variables it reuses."""
        return Simplifier(dict(self._ranges))

    def known(self, name: str) -> tuple[Expr | None, Expr | None]:
        """The limits of a variable that were assumed."""
        return self._ranges.get(name, (None, None))

    def __call__(self, expr: Expr) -> Expr:
        """An equal expression, in normal form where it is integer arithmetic."""
        if not expr.children:
            return expr
        if expr in self._done:
            return self._done[expr]
        for node in walk(expr, known=self._done):
            self._done[node] = self._node(node)
        return self._done[expr]

    def _node(self, node: Expr) -> Expr:
        if node.type == Int32 and isinstance(node, Op):
            return self.polynomial(node).expr()
        if not node.children:
            return node
        children = tuple(self._done.get(c, c) for c in node.children)
        if isinstance(node, Op) and node.type.is_bool:
            return self._condition(node, children)
        if isinstance(node, Op) and node.name == "select" and isinstance(children[0], Const):
            return children[1] if children[0].value else children[2]
        if isinstance(node, Cast):
            return cast(node.type, children[0])
        values = [c.value for c in children if isinstance(c, Const)]
        if node.type.is_float and isinstance(node, Op) and len(values) == 2:
            fold = INTEGERS.operators.get(node.name) if node.name in _FLOAT_FOLDS else None
            if fold is not None and len(children) == 2:
                return constant(fold(*values), node.type)
        return node.with_children(children)

    def polynomial(self, expr: Expr) -> Polynomial:
        """The normal form of an int32 expression."""
        known = self._polynomials.get(expr)
        if known is None:
            known = self._polynomials[expr] = self._polynomial(expr)
        return known

    def _polynomial(self, expr: Expr) -> Polynomial:
        if not isinstance(expr, Op):
            return Polynomial.of(self(expr) if isinstance(expr, Call | Cast) else expr)
        if expr.name == "select":
            return self._select(expr)
        parts = [self.polynomial(a) for a in expr.args]
        if expr.name not in _ARITHMETIC:
            rebuilt = tuple(p.expr() for p in parts) if expr.args[0].type == Int32 else expr.args
            return Polynomial.of(expr.with_children(rebuilt))
        return _ARITHMETIC[expr.name](self, *parts)

    def _divide(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if not b.terms:
            return Polynomial.of(0)
        if not self.proves_positive(b):
            return Polynomial.of(Op(Int32, "div", (a.expr(), b.expr())))
        quotient, rest = _multiples(a, b)
        low, high = self.lower(rest), self.lower(b - rest - Polynomial.of(1))
        if low is not None and low >= 0 and high is not None and high >= 0:
            return quotient
        divisor = b.constant
        if divisor is not None:
            if rest.constant is not None:
                return quotient + Polynomial.of(rest.constant // divisor)
            inner = _nested_division(rest, divisor)
            if inner is not None:
                return quotient + self._divide(*inner)
        return quotient + Polynomial.of(Op(Int32, "div", (rest.expr(), b.expr())))

    def _modulo(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if not b.terms:
            return Polynomial.of(0)
        if not self.proves_positive(b):
            return Polynomial.of(Op(Int32, "mod", (a.expr(), b.expr())))
        _, rest = _multiples(a, b)
        low, high = self.lower(rest), self.lower(b - rest - Polynomial.of(1))
        if low is not None and low >= 0 and high is not None and high >= 0:
            return rest
        if rest.constant is not None and b.constant is not None:
            return Polynomial.of(rest.constant % b.constant)
        return Polynomial.of(Op(Int32, "mod", (rest.expr(), b.expr())))

    def _minimum(self, a: Polynomial, b: Polynomial) -> Polynomial:
        return self._extreme("min", a, b, self.proves_at_most)

    def _maximum(self, a: Polynomial, b: Polynomial) -> Polynomial:
        return self._extreme("max", a, b, lambda p, q: self.proves_at_most(q, p))

    def _extreme(
        self,
        name: str,
        a: Polynomial,
        b: Polynomial,
        wins: Callable[[Polynomial, Polynomial], bool],
    ) -> Polynomial:
        """Min or max; what both operands add moves outside, so that it can cancel."""
        if wins(a, b):
            return a
        if wins(b, a):
            return b
        common = a.common(b)
        operands = sorted(((a - common).expr(), (b - common).expr()), key=lambda e: e.digest)
        flat = _drop_covered(self, name, operands)
        return common + Polynomial.of(flat)

    def _select(self, expr: Op) -> Polynomial:
        condition = self(expr.args[0])
        a, b = self.polynomial(expr.args[1]), self.polynomial(expr.args[2])
        if isinstance(condition, Const):
            return a if condition.value else b
        if a.terms == b.terms:
            return a
        common = a.common(b)
        rest = ((a - common).expr(), (b - common).expr())
        return common + Polynomial.of(Op(Int32, "select", (condition, *rest)))

    def _condition(self, node: Op, children: tuple[Expr, ...]) -> Expr:
        if node.name in _COMPARISONS and node.args[0].type == Int32:
            return self._comparison(node.name, children)
        values = [bool(c.value) if isinstance(c, Const) else None for c in children]
        if node.name == "not" and values[0] is not None:
            return constant(not values[0], Bool)
        if node.name in ("and", "or"):
            absorbing = node.name == "or"
            if absorbing in values:
                return constant(absorbing, Bool)
            if (not absorbing) in values:
                return children[1 - values.index(not absorbing)]
            if children[0] is children[1]:
                return children[0]
        return node.with_children(children)

    def _comparison(self, name: str, children: tuple[Expr, ...]) -> Expr:
        a, b = self.polynomial(children[0]), self.polynomial(children[1])
        difference = a - b
        margin, test = _COMPARISONS[name]
        if difference.constant is not None:
            return constant(test(difference.constant), Bool)
        above, below = self.lower(difference), self.lower(difference.scaled(-1))
        least = above if name in ("gt", "ge") else below
        most = below if name in ("gt", "ge") else above
        if name in ("lt", "le", "gt", "ge"):
            if least is not None and least >= margin:
                return constant(True, Bool)
            if most is not None and most >= 1 - margin:
                return constant(False, Bool)
        elif (above is not None and above > 0) or (below is not None and below > 0):
            return constant(name == "ne", Bool)
        return Op(Bool, name, children)

    def proves_positive(self, p: Polynomial) -> bool:
        """Whether ``p >= 1`` follows from the known ranges."""
        low = self.lower(p)
        return low is not None and low >= 1

    def proves_at_most(self, p: Polynomial, q: Polynomial) -> bool:
        """Whether ``p <= q`` follows from the known ranges."""
        difference = q - p
        if difference.constant is not None:
            return difference.constant >= 0
        if self._operandwise(difference):
            return True
        low = self.lower(difference)
        return low is not None and low >= 0

    def _operandwise(self, difference: Polynomial) -> bool:
        """``max(a, b) <= max(c, d) + r`` because ``a <= c + r`` and ``b <= d + r``, or crosswise;
        likewise for min. Overlapping clamps, as stencils at a border read, are ordered by it.
        """
        signed: dict[int, Op] = {}
        for monomial, coefficient in difference.terms.items():
            for atom in monomial:
                if isinstance(atom, Op) and atom.name in ("min", "max"):
                    if len(monomial) > 1 or abs(coefficient) != 1 or coefficient in signed:
                        return False
                    signed[coefficient] = atom
        if len(signed) != 2 or signed[1].name != signed[-1].name:
            return False
        smaller, larger = signed[-1], signed[1]
        rest = difference - Polynomial.of(larger) + Polynomial.of(smaller)
        a, b = (self.polynomial(x) for x in smaller.args)
        c, d = (self.polynomial(x) + rest for x in larger.args)
        straight = self.proves_at_most(a, c) and self.proves_at_most(b, d)
        return straight or (self.proves_at_most(a, d) and self.proves_at_most(b, c))

    def at_most(self, a: Expr, b: Expr) -> bool:
        """Whether ``a <= b`` follows from the known ranges, for expressions."""
        return self.proves_at_most(self.polynomial(a), self.polynomial(b))

    def lower(self, p: Polynomial, depth: int = 3) -> int | None:
        """A number that ``p`` is never below, or None where none is found."""
        if p.constant is not None:
            return p.constant
        key = (frozenset(p.terms.items()), depth)
        if key not in self._lowers:
            self._lowers[key] = None  # what a range that refers to itself sees
            self._lowers[key] = self._find_lower(p, depth)
        return self._lowers[key]

    def _find_lower(self, p: Polynomial, depth: int) -> int | None:
        direct = self._termwise(p)
        if direct is not None or depth == 0:
            return direct
        tried = 0
        for atom in sorted(p.atoms, key=self._replacement_order):
            bounds = self._replaced(p, atom)
            for bound in bounds:
                low = self.lower(bound, depth - 1)
                if low is not None:
                    return low
            tried += bool(bounds)
            # The order in which atoms are replaced seldom matters; trying all is exponential.
            if tried == 2:
                break
        return None

    def _replacement_order(self, atom: Expr) -> tuple[int, int]:
        """Compound atoms first, then variables whose limits may mention earlier ones."""
        if isinstance(atom, Variable):
            known = atom.name in self._ranges
            return (1, -list(self._ranges).index(atom.name)) if known else (2, 0)
        return (0, atom.digest)

    def _termwise(self, p: Polynomial) -> int | None:
        total = 0
        for monomial, coefficient in p.terms.items():
            low, high = 1, 1
            for atom in monomial:
                a, b = self._number_range(atom)
                if (a is None or a < 0) and (len(monomial) > 1 or (a is None and coefficient > 0)):
                    return None
                if b is None and coefficient < 0:
                    return None
                low *= a if a is not None else 0
                high *= b if b is not None else 0
            total += coefficient * (low if coefficient > 0 else high)
        return total

    def _replaced(self, p: Polynomial, atom: Expr) -> list[Polynomial]:
        """Polynomials that ``p`` is never below, without ``atom``."""
        parts = p.split(atom)
        if parts is None:
            return []
        factor, rest = parts
        sign = self._sign(factor)
        if sign == 0:
            return []
        if isinstance(atom, Op) and atom.name == "div":
            return self._without_division(atom, factor, rest, sign)
        lows, highs = self._symbolic_range(atom)
        return [factor * self.polynomial(bound) + rest for bound in (lows if sign > 0 else highs)]

    def _without_division(
        self, atom: Op, factor: Polynomial, rest: Polynomial, sign: int
    ) -> list[Polynomial]:
        """A - c < c * (a / c) <= a, where the factor of ``a / c`` is a multiple of c >= 1."""
        a, c = self.polynomial(atom.args[0]), self.polynomial(atom.args[1])
        times, over = _multiples(factor, c)
        if over.terms or not self.proves_positive(c):
            return []
        least = a - c + Polynomial.of(1)
        return [times * (least if sign > 0 else a) + rest]

    def _sign(self, p: Polynomial) -> int:
        low = self._termwise(p)
        if low is not None and low >= 0:
            return 1
        low = self._termwise(p.scaled(-1))
        return -1 if low is not None and low >= 0 else 0

    def _symbolic_range(self, atom: Expr) -> tuple[list[Expr], list[Expr]]:
        """Lower and upper limits of an atom, each holding on its own."""
        if isinstance(atom, Variable):
            low, high = self._ranges.get(atom.name, (None, None))
            return ([low] if low is not None else [], [high] if high is not None else [])
        if isinstance(atom, Op) and atom.name == "min":
            return [], list(atom.args)
        if isinstance(atom, Op) and atom.name == "max":
            return list(atom.args), []
        return [], []

    def _number_range(self, atom: Expr) -> tuple[int | None, int | None]:
        if isinstance(atom, Variable):
            return self._variable_range(atom.name)
        if isinstance(atom, Op):
            return self._operator_range(atom)
        if isinstance(atom, Call | Cast) and not atom.type.is_float and atom.type.bits < 32:
            return (atom.type.min_value, atom.type.max_value)
        return (None, None)

    def _variable_range(self, name: str) -> tuple[int | None, int | None]:
        is_size = ".extent." in name
        if name not in self._ranges:
            return (1 if is_size else None, None)
        low, high = self._ranges[name]
        least, most = _number(low), _number(high)
        return (1 if least is None and is_size else least, most)

    def _operator_range(self, atom: Op) -> tuple[int | None, int | None]:
        if atom.name == "mod" and isinstance(atom.args[1], Const):
            return (0, max(abs(int(atom.args[1].value)) - 1, 0))
        if atom.name == "mod":
            return (0, None)
        if atom.name in ("min", "max", "select"):
            operands = [self.polynomial(a) for a in atom.args[-2:]]
            lows = [self.lower(p, 2) for p in operands]
            highs = [self.lower(p.scaled(-1), 2) for p in operands]
            known_lows = [x for x in lows if x is not None]
            known_highs = [-x for x in highs if x is not None]
            every_low, every_high = len(known_lows) == 2, len(known_highs) == 2
            low = min(known_lows) if every_low else None
            high = max(known_highs) if every_high else None
            if atom.name == "max" and known_lows:
                low = max(known_lows)
            if atom.name == "min" and known_highs:
                high = min(known_highs)
            return (low, high)
        if atom.name == "div":
            return self._quotient_range(atom)
        return (None, None)

    def _quotient_range(self, atom: Op) -> tuple[int | None, int | None]:
        numerator, divisor = (self.polynomial(a) for a in atom.args)
        low, least = self.lower(numerator, 2), self.lower(divisor, 2)
        if divisor.constant is not None and divisor.constant > 0:
            negated = self.lower(numerator.scaled(-1), 2)
            return (
                None if low is None else low // divisor.constant,
                None if negated is None else -negated // divisor.constant,
            )
        if low is not None and least is not None and min(low, least) >= 0:
            return (0, None)
        return (None, None)


def _number(expr: Expr | None) -> int | None:
    return int(expr.value) if isinstance(expr, Const) else None


_ARITHMETIC: dict[str, Callable[..., Polynomial]] = {
    "add": lambda s, a, b: a + b,
    "sub": lambda s, a, b: a - b,
    "mul": lambda s, a, b: a * b,
    "div": Simplifier._divide,
    "mod": Simplifier._modulo,
    "min": Simplifier._minimum,
    "max": Simplifier._maximum,
}


def _multiples(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """``(q, r)`` with a = q * b + r, taking out the terms of ``a`` that ``b`` divides."""
    if len(b.terms) != 1:
        return Polynomial({}), a
    ((monomial, divisor),) = b.terms.items()
    quotient: dict[tuple[Expr, ...], int] = {}
    rest: dict[tuple[Expr, ...], int] = {}
    for term, coefficient in a.terms.items():
        left = list(term)
        for atom in monomial:
            if atom in left:
                left.remove(atom)
        if len(left) != len(term) - len(monomial):
            rest[term] = coefficient
            continue
        whole, over = divmod(coefficient, divisor)
        if whole:
            quotient[tuple(left)] = whole
        if over:
            rest[term] = over
    return Polynomial(quotient), Polynomial(rest)


def _nested_division(a: Polynomial, divisor: int) -> tuple[Polynomial, Polynomial] | None:
    """(x / c + k) / d as (x + k * c, c * d), so that halvings of halvings become one."""
    factors = [m for m in a.terms if m]
    if len(factors) != 1 or len(factors[0]) != 1 or a.terms[factors[0]] != 1:
        return None
    quotient = factors[0][0]
    if not isinstance(quotient, Op) or quotient.name != "div":
        return None
    if not isinstance(quotient.args[1], Const):
        return None
    c = int(quotient.args[1].value)
    if c <= 0:
        return None
    numerator = Simplifier().polynomial(quotient.args[0]) + Polynomial.of(a.offset * c)
    return numerator, Polynomial.of(c * divisor)


def _drop_covered(simplify: Simplifier, name: str, operands: list[Expr]) -> Expr:
    """``min(min(a, b), c)`` without the operands that another one always decides."""

    def decides(a: Expr, b: Expr) -> bool:
        return simplify.at_most(a, b) if name == "min" else simplify.at_most(b, a)

    flat: list[Expr] = []
    for operand in operands:
        is_same = isinstance(operand, Op) and operand.name == name
        flat += operand.children if is_same else (operand,)
    kept: list[Expr] = []
    for candidate in flat:
        if not any(decides(k, candidate) for k in kept):
            kept = [*(k for k in kept if not decides(candidate, k)), candidate]
    result = kept[0]
    for operand in kept[1:]:
        result = Op(Int32, name, (result, operand))
    return result
