"""Simplification of index arithmetic under known ranges of its variables.

Integers of type int32 count as mathematical integers, as coordinates do in Halide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd

from attrs import define, field, frozen

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
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.algebra import SHIFTS, FormulaError, evaluate
from spaces.model.formulas.extremes import (
    EXTREMES,
    common,
    extreme,
    is_part,
    lone_extreme,
    of_parity,
    operands,
)
from spaces.model.formulas.float_quotients import float_quotient, whole_quotient
from spaces.model.formulas.float_values import float_literal
from spaces.model.formulas.known_forms import KnownForms
from spaces.model.formulas.narrowing import wrapped
from spaces.model.formulas.polynomial import Polynomial, multiples
from spaces.model.formulas.variable_ranges import VariableRanges

_ORDERED: dict[str, Callable[[Polynomial, Polynomial], tuple[Polynomial, Polynomial, int]]] = {
    # For each comparison: (lesser side, greater side, minimum gap) if it holds ("eq": if it fails).
    "lt": lambda a, b: (a, b, 1),
    "le": lambda a, b: (a, b, 0),
    "gt": lambda a, b: (b, a, 1),
    "ge": lambda a, b: (b, a, 0),
    "eq": lambda a, b: (a, b, 1),
    "ne": lambda a, b: (a, b, 1),
}
_ZERO = Polynomial({})


@frozen
class _ExtremeOperand:
    """An operand of a min or max: a sum.

    Attributes:
        form: the sum.
        seen: its values in some assignments.
        cases: (condition, sum where it holds, sum where it does not), if one condition decides
            the sum; else None.
        has_rest: whether the sum contains a remainder of a division.
    """

    form: Polynomial
    seen: tuple[int | None, ...]
    cases: tuple[Expr, Polynomial, Polynomial] | None
    has_rest: bool

    def may_be_at_most(self, other: _ExtremeOperand) -> bool:
        """Whether in no assignment this operand is larger than ``other``."""
        pairs = zip(self.seen, other.seen, strict=True)
        return all(a is None or b is None or a <= b for a, b in pairs)


@define
class Simplifier(VariableRanges):
    """Simplifies expressions; it remembers results and the ranges of variables.

    Call :meth:`assume` for a variable before the first use of that variable. What is ``shared`` are
    results of other simplifiers with the same limits; those of inner ones are their own.
    """

    _fixed: dict[str, Const] = field(factory=dict)
    _shared: KnownForms | None = None
    _done: dict[Expr, Expr] = field(init=False, factory=dict)
    _polynomials: dict[Expr, Polynomial] = field(init=False, factory=dict)

    def inside(self, name: str, low: Expr | None, high: Expr | None) -> Simplifier:
        """A simplifier with new limits for one variable. It asks this simplifier about expressions
        without the variable; assume nothing more here afterwards.
        """
        inner = Simplifier(dict(self._ranges), self, name, dict(self._fixed))
        inner.assume(name, low, high)
        return inner

    def fix_value(self, name: str, value: Const) -> None:
        """Replaces an int32 variable by ``value`` in all later results."""
        self.assume(name, value, value)
        self._fixed[name] = value
        self._done.clear()
        self._polynomials.clear()

    def __call__(self, expr: Expr) -> Expr:
        """An equal expression; integer arithmetic in it is in normal form."""
        known = self._done.get(expr)
        if known is not None:
            return known
        outer = self._outside(expr.names)
        if outer is not None:
            return outer(expr)
        if not expr.children:
            return self._leaf(expr)
        if expr.type is Int32 and isinstance(expr, Op):
            return self._arithmetic(expr)
        for node in walk(expr, known=self._done):
            if node is expr or not is_part(node):
                self._done[node] = self._node(node)
        return self._done[expr]

    def _arithmetic(self, expr: Expr) -> Expr:
        """Simplifies arithmetic on coordinates, unless its normal form is shared."""
        if self._shared is None:
            return self._simplified(expr)
        limits = self._limits(expr.names, self._shared)
        known = self._shared.find(expr, limits)
        if known is None:
            found = self._simplified(expr)
            self._shared.keep(expr, limits, self._polynomials[expr], found)
            return found
        form, found = known
        self._polynomials[expr] = form
        self._polynomials.setdefault(found, form)
        self._done[expr] = self._done.setdefault(found, found)
        return self._done[expr]

    def _simplified(self, expr: Expr) -> Expr:
        """Simplifies arithmetic on coordinates; its parts need no result but their polynomials."""
        for node in walk(expr, known=self._polynomials):
            if node is expr or not is_part(node):
                if node.type is Int32:
                    self.polynomial(node)
                else:
                    self(node)
        found = self._done[expr] = self.normal(self._polynomials[expr])
        return found

    def _node(self, node: Expr) -> Expr:
        if node.type == Int32 and isinstance(node, Op):
            return self.normal(self.polynomial(node))
        if not node.children:
            return self._leaf(node)
        # An inner part of an extreme counts as a whole one here, under another operator.
        children = tuple(self(c) if is_part(c) else self._done.get(c, c) for c in node.children)
        if isinstance(node, Op) and node.type.is_bool:
            return self._condition(node, children)
        if isinstance(node, Op) and node.name == "select" and isinstance(children[0], Const):
            return children[1] if children[0].value else children[2]
        if isinstance(node, Cast):
            whole = self._from_floats(node)
            return cast(node.type, children[0]) if whole is None else self(whole)
        rebuilt = node.with_children(children)
        literal = float_literal(rebuilt)
        return rebuilt if literal is None else literal

    def _leaf(self, node: Expr) -> Expr:
        return self._fixed.get(node.name, node) if isinstance(node, Variable) else node

    def normal(self, form: Polynomial) -> Expr:
        """A normal form as an expression; the simplifier remembers that this is its normal form."""
        result = form.expr()
        self._polynomials.setdefault(result, form)
        return self._done.setdefault(result, result)

    def adopt(self, forms: Mapping[Expr, Polynomial]) -> None:
        """Takes over the normal forms of expressions that are already in normal form."""
        for expr, form in forms.items():
            if expr not in self._done:
                self._done[expr] = expr
                self._polynomials[expr] = form

    def polynomial(self, expr: Expr) -> Polynomial:
        """The normal form of an int32 expression."""
        known = self._polynomials.get(expr)
        if known is None:
            outer = self._outside(expr.names)
            found = self._polynomial(expr) if outer is None else outer.polynomial(expr)
            known = self._polynomials[expr] = found
        return known

    def _polynomial(self, expr: Expr) -> Polynomial:
        if not (expr.names or expr.loads or isinstance(expr, Const | Text)):
            number = self._number(expr)
            if number is not None:
                return Polynomial.of(number)
        if not isinstance(expr, Op):
            plain = wrapped(expr)
            if plain is None:
                plain = self._from_floats(expr)
            if plain is not None:
                return self.polynomial(plain)
            return Polynomial.of(self(expr) if isinstance(expr, Call | Cast) else self._leaf(expr))
        if expr.name in SHIFTS and not expr.loads:
            return self._shifted(expr)
        if expr.name == "select":
            return self._select(expr)
        if expr.name in EXTREMES:
            forms = [self.polynomial(x) for x in operands(expr)]
            if not self.never_wrap(*forms):
                return Polynomial.of(extreme(expr.name, [form.expr() for form in forms]))
            return self._extreme(expr.name, forms)
        parts = [self.polynomial(a) for a in expr.args]
        if expr.name in ("div", "mod") and not self.never_wrap(*parts):
            return Polynomial.of(expr.with_children(tuple(p.expr() for p in parts)))
        if expr.name not in _ARITHMETIC:
            rebuilt = tuple(p.expr() for p in parts) if expr.args[0].type == Int32 else expr.args
            return Polynomial.of(expr.with_children(rebuilt))
        return _ARITHMETIC[expr.name](self, *parts)

    def _from_floats(self, expr: Expr) -> Expr | None:
        """A whole number that is made from literals of floats alone, or a quotient of floats that
        is one of integers, as that.
        """
        if isinstance(expr, Cast) and expr.type is Int32 and not (expr.names or expr.loads):
            number = self._number(expr)
            return None if number is None else constant(number, Int32)
        found = float_quotient(expr)
        return None if found is None else whole_quotient(expr, found[1], self.numbers(found[1]))

    @staticmethod
    def _number(expr: Expr) -> int | None:
        """The value of arithmetic on numbers alone; None if it is not a formula or not an int32."""
        try:
            value = evaluate(expr, {})
        except FormulaError:
            return None
        return value if Int32.holds(value) else None

    def _shifted(self, expr: Op) -> Polynomial:
        """A shift as a product or quotient by a power of two, if its amount is from 0 to 30."""
        value, by = expr.args
        least, most = self.numbers(by)
        one = constant(1, Int32)
        if value is one or least is None or most is None or not 0 <= least <= most <= 30:
            return Polynomial.of(expr.with_children((self(value), self(by))))
        power = self.polynomial(Op(Int32, "shift_left", (one, by)))
        if expr.name == "shift_left":
            return self.polynomial(value) * power
        return self._divide(self.polynomial(value), power)

    def _divide(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if not b.terms:
            return Polynomial.of(0)
        if not self.proves_positive(b):
            return Polynomial.of(Op(Int32, "div", (a.expr(), b.expr())))
        quotient, rest = multiples(a, b)
        whole = self._certain_quotient(rest, b)
        if whole is not None:
            return quotient + Polynomial.of(whole)
        divisor = b.constant
        if divisor is not None:
            if rest.constant is not None:
                return quotient + Polynomial.of(rest.constant // divisor)
            inner = _nested_division(rest, divisor)
            if inner is not None:
                return quotient + self._divide(*inner)
        return quotient + Polynomial.of(Op(Int32, "div", (rest.expr(), b.expr())))

    def _certain_quotient(self, a: Polynomial, b: Polynomial) -> int | None:
        """``a / b`` if ``a`` provably lies in ``0 .. b - 1`` or in ``-b .. -1``; else None."""
        for whole in (0, -1):
            rest = a - b.scaled(whole)
            if self.proves_at_most(_ZERO, rest) and self.proves_positive(b - rest):
                return whole
        return None

    def _modulo(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if not b.terms:
            return Polynomial.of(0)
        if not self.proves_positive(b):
            return Polynomial.of(Op(Int32, "mod", (a.expr(), b.expr())))
        _, rest = multiples(a, b)
        whole = self._certain_quotient(rest, b)
        if whole is not None:
            return rest - b.scaled(whole)
        if rest.constant is not None and b.constant is not None:
            return Polynomial.of(rest.constant % b.constant)
        return Polynomial.of(Op(Int32, "mod", (rest.expr(), b.expr())))

    def _extreme(self, name: str, forms: Sequence[Polynomial]) -> Polynomial:
        """The min or max of several sums. Common terms move outside, where they can cancel."""
        kept: list[_ExtremeOperand] = []
        for form in self._flat(name, forms):
            self._admit(name, kept, form)
        if len(kept) == 1:
            return kept[0].form
        shared = common([operand.form for operand in kept])
        if not all(_fits(operand.form - shared) for operand in kept):
            shared = shared - Polynomial.of(shared.offset)
        rests = [operand.form - shared for operand in kept]
        if shared.terms and any(_is_extreme(name, rest) for rest in rests):
            return shared + self._extreme(name, rests)  # without the common terms it is flat, too
        values = sorted(map(self.normal, rests), key=lambda e: e.digest)
        atom = extreme(name, values)
        # No operand decides against another one: this form needs no further simplification.
        whole = self._polynomials[atom] = Polynomial.of(atom)
        return shared + whole

    def _flat(self, name: str, forms: Sequence[Polynomial]) -> Iterator[Polynomial]:
        """Yields the sums. An extreme plus common terms and a constant becomes its operands."""
        shared = common(forms)
        for form in forms:
            inner = lone_extreme(name, form)
            if inner is None or (inner[1] - shared).constant is None:
                yield form
                continue
            parts = [self.polynomial(value) + inner[1] for value in operands(inner[0])]
            yield from parts if all(map(_fits, parts)) else (form,)

    def _admit(self, name: str, kept: list[_ExtremeOperand], form: Polynomial) -> None:
        """Adds an operand to ``kept``, and merges operands if one of two always wins."""
        added = self._operand(form)
        place = 0
        while place < len(kept):
            other = kept[place]
            merged = self._merged(name, other, added)
            if merged is None:
                place += 1
            elif merged is other.form:
                return
            else:
                del kept[place]
                if merged is not added.form:
                    added, place = self._operand(merged), 0
        kept.append(added)

    def _operand(self, form: Polynomial) -> _ExtremeOperand:
        has_rest = any(isinstance(a, Op) and a.name == "mod" for m in form.terms for a in m)
        return _ExtremeOperand(form, self.seen(form), self._cases(form), has_rest)

    def _merged(self, name: str, a: _ExtremeOperand, b: _ExtremeOperand) -> Polynomial | None:
        """The min or max of two operands as one sum; None if it needs both."""
        smaller, larger = (a, b) if name == "min" else (b, a)
        if smaller.may_be_at_most(larger) and self.proves_at_most(smaller.form, larger.form):
            return a.form
        if larger.may_be_at_most(smaller) and self.proves_at_most(larger.form, smaller.form):
            return b.form
        if a.cases is not None and b.cases is not None and a.cases[0] is b.cases[0]:
            pairs = zip(a.cases[1:], b.cases[1:], strict=True)
            return self._chosen(a.cases[0], *(self._extreme(name, pair) for pair in pairs))
        if not (a.has_rest or b.has_rest):
            return None
        shared = a.form.common(b.form)
        parity = of_parity(name, a.form - shared, b.form - shared)
        return None if parity is None else self._rounded_up(shared + parity)

    def _cases(self, form: Polynomial) -> tuple[Expr, Polynomial, Polynomial] | None:
        """The only condition that decides a sum, with the sum where it holds and where it fails."""
        selects = [a for a in form.atoms if isinstance(a, Op) and a.name == "select"]
        coefficient = form.terms.get((selects[0],)) if len(selects) == 1 else None
        if coefficient is None:
            return None
        condition, *values = selects[0].args
        rest = form - Polynomial.of(selects[0]).scaled(coefficient)
        held, failed = (rest + self.polynomial(v).scaled(coefficient) for v in values)
        return condition, held, failed

    def _rounded_up(self, form: Polynomial) -> Polynomial:
        """``form`` with ``(x + 1) / 2``, which grows with ``x``, in place of ``x / 2 + x % 2``."""
        for monomial, coefficient in form.terms.items():
            match monomial:
                case (Op(name="mod", args=(x, Const(value=2))) as odd,) if coefficient > 0:
                    half = Polynomial.of(Op(Int32, "div", (x, constant(2, Int32))))
                    if form.terms.get(next(iter(half.terms)), 0) >= coefficient:
                        more = self.polynomial(x) + Polynomial.of(1)
                        rounded = self._divide(more, Polynomial.of(2))
                        whole = (rounded - half - Polynomial.of(odd)).scaled(coefficient)
                        return form + whole
        return form

    def _select(self, expr: Op) -> Polynomial:
        condition = self(expr.args[0])
        a, b = self.polynomial(expr.args[1]), self.polynomial(expr.args[2])
        if isinstance(condition, Const):
            return a if condition.value else b
        return self._chosen(condition, a, b)

    def _chosen(self, condition: Expr, a: Polynomial, b: Polynomial) -> Polynomial:
        """``a`` if a condition holds, else ``b``."""
        if a.terms == b.terms:
            return a
        common = a.common(b)
        rest = (a - common, b - common)
        # A common factor moves outside, where a division can cancel it.
        factor = gcd(*rest[0].terms.values(), *rest[1].terms.values())
        first, second = (Polynomial({m: c // factor for m, c in p.terms.items()}) for p in rest)
        chosen = Op(Int32, "select", (condition, first.expr(), second.expr()))
        return common + Polynomial.of(chosen).scaled(factor)

    def _condition(self, node: Op, children: tuple[Expr, ...]) -> Expr:
        if node.name in _ORDERED and node.args[0].type == Int32:
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
        if not self.never_wrap(a, b):
            return Op(Bool, name, children)
        smaller, larger, margin = _ORDERED[name](a, b)
        if self.proves_at_most(smaller + Polynomial.of(margin), larger):
            return constant(name != "eq", Bool)
        if name in ("eq", "ne"):
            if self.proves_positive(smaller - larger):
                return constant(name == "ne", Bool)
            if (smaller - larger).constant == 0:
                return constant(name == "eq", Bool)
        elif self.proves_at_most(larger + Polynomial.of(1 - margin), smaller):
            return constant(False, Bool)
        return Op(Bool, name, children)


_ARITHMETIC: dict[str, Callable[..., Polynomial]] = {
    "add": lambda s, a, b: a + b,
    "sub": lambda s, a, b: a - b,
    "mul": lambda s, a, b: a * b,
    "div": Simplifier._divide,
    "mod": Simplifier._modulo,
}


def _is_extreme(name: str, form: Polynomial) -> bool:
    """Whether a sum is a min (or max) and a number."""
    inner = lone_extreme(name, form)
    return inner is not None and inner[1].constant is not None


def _fits(form: Polynomial) -> bool:
    """Whether int32 holds the constant of a sum; code with a larger constant would wrap."""
    return Int32.holds(form.offset)


def _nested_division(a: Polynomial, divisor: int) -> tuple[Polynomial, Polynomial] | None:
    """``(x + k * c, c * d)`` for ``(x / c + k) / d``: two divisions become one; None for others."""
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
