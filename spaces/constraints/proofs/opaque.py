"""Index expressions as formulas: what has no meaning over integers becomes a variable.

A value read from memory, a float and arithmetic that wraps are such; of a value of a narrow
integer type the limits of the type stay known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce

from attrs import define, field

from spaces.constraints.proofs.formulas import OPAQUE, at_most, different
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, constant
from spaces.model.expressions.operators import ARITHMETIC, COMPARISONS, LOGIC
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.regions import UNBOUNDED, Interval, Ranges
from spaces.model.formulas.simplify import Simplifier

_SUMS = ("add", "sub", "mul")


@define
class Opaque:
    """A table of the expressions that have become variables, and what is known of these.

    Attributes:
        loops: the numbers between which loop variables lie, where they are known.
        values: what reads may give.
    """

    loops: Mapping[str, Interval] = field(factory=dict)
    values: Callable[[Call], Interval] = field(default=lambda call: UNBOUNDED)
    meaning: dict[str, Expr] = field(factory=dict)
    limits: dict[str, tuple[Expr, ...]] = field(factory=dict)
    _done: dict[Expr, Expr] = field(factory=dict)
    _simplify: Simplifier = field(factory=Simplifier)
    _ranges: Ranges = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._ranges = Ranges(self._simplify, self.loops, self.values)

    def formula(self, expr: Expr) -> Expr:
        """``expr``, an int32 or boolean expression, as a formula."""
        if expr not in self._done:
            self._done[expr] = self._formula(expr)
        return self._done[expr]

    def place(self, index: Expr) -> Expr:
        """A place in memory as a formula. Lowered programs calculate it in more bits than an int32
        has, so its sums are integers; coordinates in it that wrap stand behind conversions.
        """
        if isinstance(index, Op) and index.name in _SUMS:
            return self._integers(self._simplify.polynomial(index))
        return self.formula(index)

    def _formula(self, node: Expr) -> Expr:
        if isinstance(node, Const) and node.type in (Int32, Bool):
            return node
        if isinstance(node, Variable) and node.type == Int32:
            return node
        if node.loads and isinstance(node, Op) and node.type == Int32 and node.name in _SUMS:
            return self._sum(node)
        if isinstance(node, Op) and self._is_plain(node) and self._is_exact_quotient(node):
            return node.with_children(tuple(self.formula(a) for a in node.args))
        if isinstance(node, Cast) and node.type == Int32:
            inner = node.value
            is_magnitude = isinstance(inner, Op) and inner.name == "abs"
            if isinstance(inner, Op) and is_magnitude and self._is_exact_magnitude(inner):
                return Op(Int32, "abs", (self.formula(inner.args[0]),))
            if inner.type.is_bool:
                one, zero = constant(1, Int32), constant(0, Int32)
                return Op(Int32, "select", (self.formula(inner), one, zero))
            if not inner.type.is_float and inner.type.bits <= 16:  # the same number
                return self._variable(inner)
        return self._variable(node)

    @staticmethod
    def _is_plain(node: Op) -> bool:
        if node.name in LOGIC:
            return True
        if node.name in COMPARISONS:
            return all(a.type == Int32 for a in node.args)
        return node.type == Int32 and node.name in (*ARITHMETIC, "select")

    def _sum(self, node: Op) -> Expr:
        """A sum of products of what is read, which may be a number beyond int32, as coordinates are
        not: then it wraps, of which nothing is said.
        """
        form = self._simplify.polynomial(node)
        if not self._simplify.never_wrap(form) and self._ranges.of(node) == UNBOUNDED:
            return self._variable(form.expr())
        return self._integers(form)

    def _integers(self, form: Polynomial) -> Expr:
        """A sum of products that does not wrap."""
        total = Polynomial({})
        for monomial, coefficient in form.terms.items():
            factors = (Polynomial.of(self.formula(atom)) for atom in monomial)
            total += reduce(operator.mul, factors, Polynomial.of(coefficient))
        return total.expr()

    def _is_exact_quotient(self, node: Op) -> bool:
        """Whether an operator is anything but the one quotient that wraps: of the smallest number
        and -1.
        """
        if node.name != "div" or not node.loads:
            return True
        least, divisor = (self._ranges.of(a).min for a in node.args)
        return least is not None or (isinstance(divisor, Const) and divisor.value >= 0)

    def _is_exact_magnitude(self, node: Op) -> bool:
        """Whether a magnitude is that of an int32, and fits one."""
        (value,) = node.args
        return value.type == Int32 and not (value.loads and self._ranges.of(value).min is None)

    def _normal(self, node: Expr) -> Expr:
        """A read at the same place written in one way."""
        if isinstance(node, Call):
            return node.with_children(tuple(map(self._simplify, node.args)))
        return node

    def _variable(self, node: Expr) -> Expr:
        node = rewrite(node, self._normal)
        if node in self._done:
            return self._done[node]
        name = f"{OPAQUE}{len(self.meaning)}"
        self.meaning[name] = node
        variable = Variable(Int32, name)
        if node.type.is_bool:
            self._done[node] = different(variable, constant(0, Int32))
            return self._done[node]
        found = self._ranges.of(node)
        if not node.type.is_float:
            low, high = self._end(node, found.min), self._end(node, found.max)
            below = () if low is None else (at_most(low, variable),)
            above = () if high is None else (at_most(variable, high),)
            self.limits[name] = (*below, *above)
        self._done[node] = variable
        return variable

    def _end(self, node: Expr, end: Expr | None) -> Expr | None:
        """A limit of a value as a formula: a number, or of a read what holds at all coordinates."""
        if isinstance(end, Const):
            return constant(int(end.value), Int32)
        is_general = isinstance(node, Call) and end is not None and not end.loads
        return self.formula(end) if is_general and end is not None and end.type == Int32 else None
