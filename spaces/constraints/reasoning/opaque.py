"""Index expressions as formulas: an expression without a meaning over integers becomes a variable.

Such a variable is *opaque*. It stands for a value read from memory, a float, or arithmetic that
wraps; the limits of a narrow integer type stay known. It also stands for the bits that two
coordinates have in common; their limits at each coordinate stay known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from attrs import define, field

from spaces.constraints.reasoning.common_bits import facts, masked
from spaces.constraints.reasoning.formulas import OPAQUE, SECOND, Second, at_most, different
from spaces.model.expressions.definitions import REQUIRE
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, cast, constant
from spaces.model.expressions.operators import ARITHMETIC, BITWISE, COMPARISONS, LOGIC
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.algebra import SHIFTS
from spaces.model.formulas.float_values import has_loops, touches_floats
from spaces.model.formulas.interval import UNBOUNDED, Interval
from spaces.model.formulas.narrowing import narrowed, wrapped
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.conditions import assume

_SUMS = ("add", "sub", "mul")


@define
class Opaque:
    """A table of the expressions that became opaque variables, with what is known about each.

    Attributes:
        loops: the ranges of loop variables, as far as they are numbers.
        values: the range of the values that a read may give.
        promises: conditions on sizes and parameters that every call meets.
        meaning: the expression that each variable stands for, by name.
        limits: conditions that bound a variable by numbers and sizes, at all coordinates.
        facts: conditions on a variable and the coordinates at which it has its value.
    """

    loops: Mapping[str, Interval] = field(factory=dict)
    values: Callable[[Call], Interval] = field(default=lambda call: UNBOUNDED)
    promises: tuple[Expr, ...] = ()
    meaning: dict[str, Expr] = field(factory=dict)
    limits: dict[str, tuple[Expr, ...]] = field(factory=dict)
    facts: dict[str, tuple[Expr, ...]] = field(factory=dict)
    _done: dict[Expr, Expr] = field(factory=dict)
    _simplify: Simplifier = field(factory=Simplifier)
    _ranges: Ranges = field(init=False)

    def __attrs_post_init__(self) -> None:
        for promise in self.promises:
            assume(self._simplify, promise)
        self._ranges = Ranges(self._simplify, self.loops, self.values)

    def formula(self, expr: Expr) -> Expr:
        """``expr``, an int32 or boolean expression, as a formula."""
        if expr not in self._done:
            self._done[expr] = self._formula(expr)
        return self._done[expr]

    def place(self, index: Expr) -> Expr:
        """A place in memory as a formula. Lowered programs calculate a place in more bits than an
        int32 has, so that its sums do not wrap; coordinates that wrap stand behind conversions.
        """
        if isinstance(index, Op) and index.name in _SUMS:
            return self._integers(self._simplify.polynomial(index))
        return self.formula(index)

    def condition(self, condition: Expr) -> Expr:
        """A condition on sizes and parameters as a formula with the variables of all others. The
        condition itself if a comparison in it would become opaque.
        """
        found = self.formula(condition)
        parts = (self.meaning.get(name) for name in found.names)
        is_lost = any(part is not None and part.type.is_bool for part in parts)
        return condition if is_lost else found

    def known(self, names: Iterable[str], second: Second | None = None) -> tuple[Expr, ...]:
        """Conditions on the variables of these names: opaque ones, and their copies in a ``second``
        iteration. For copies in another iteration these are limits only.
        """
        found, waiting, seen = dict[Expr, None](), list(names), set[str]()
        while waiting:
            name = waiting.pop(0)
            bare = name.removesuffix(SECOND)
            if name in seen or bare not in self.meaning:
                continue
            seen.add(name)
            limits, facts = self.limits.get(bare, ()), self.facts.get(bare, ())
            if name != bare:
                limits = tuple(map(Second(), limits))
                facts = () if second is None else tuple(map(second, facts))
            for one in (*limits, *facts):
                found[one] = None
                waiting += sorted(one.names)
        return tuple(found)

    def _formula(self, node: Expr) -> Expr:
        if isinstance(node, Const) and node.type in (Int32, Bool):
            return node
        if isinstance(node, Variable) and node.type in (Int32, Bool):
            return node
        if node.loads and isinstance(node, Op) and node.type == Int32 and node.name in _SUMS:
            return self._sum(node)
        if isinstance(node, Op) and node.type == Int32 and not node.loads:
            if node.name in BITWISE:
                return self._bits(node)
            if node.name in SHIFTS:
                return self._shifted(node)
        if isinstance(node, Op) and node.name == REQUIRE:
            return self.formula(node.args[1])
        whole = narrowed(node)
        if whole is not None:
            return self.formula(whole)
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
                return self._narrow(inner)
        return self._variable(node)

    def _narrow(self, node: Expr) -> Expr:
        """A number of a narrow type. A conversion of a coordinate keeps its lowest bits."""
        low, count = node.type.min_value, 1 << node.type.bits
        if isinstance(node, Cast) and not node.loads and not node.value.type.is_float:
            whole = node.value if node.value.type is Int32 else wrapped(cast(Int32, node.value))
            if whole is not None:
                return self._simplify((self.formula(whole) - low) % count + low)
        return self._variable(node)

    def _bits(self, node: Op) -> Expr:
        """``&``, ``|`` or ``^`` of two coordinates, as a formula over their common bits."""
        a, b = map(self.formula, node.args)
        common = self._common(node, a, b)
        if node.name == "bit_and":
            return common
        whole = a + b - (common if node.name == "bit_or" else common * 2)
        if isinstance(common, Variable):
            self.facts[common.name] += self._ends(node, whole)
        return whole

    def _common(self, node: Op, a: Expr, b: Expr) -> Expr:
        for value, mask in ((a, b), (b, a)):
            exact = masked(value, int(mask.value)) if isinstance(mask, Const) else None
            if exact is not None:
                return exact
        pair = sorted((self._simplify(a), self._simplify(b)), key=lambda e: e.digest)
        key = Op(Int32, "bit_and", tuple(pair))
        if key not in self._done:
            name = f"{OPAQUE}{len(self.meaning)}"
            variable = self._done[key] = Variable(Int32, name)
            self.meaning[name] = both = Op(Int32, "bit_and", node.args)
            self.facts[name] = (*facts(variable, a, b), *self._ends(both, variable))
        return self._done[key]

    def _ends(self, node: Expr, value: Expr) -> tuple[Expr, ...]:
        """The limits of a value, as conditions on its formula."""
        found = self._ranges.of(node)
        low, high = self._end(node, found.min), self._end(node, found.max)
        is_narrow = not node.type.is_float and node.type.bits <= 16
        if is_narrow or (node.type == Int32 and not node.loads):
            least, most = self._simplify.numbers(node)
            low = constant(least, Int32) if low is None and least is not None else low
            high = constant(most, Int32) if high is None and most is not None else high
        below = () if low is None else (at_most(low, value),)
        above = () if high is None else (at_most(value, high),)
        return (*below, *above)

    def _shifted(self, node: Op) -> Expr:
        """A shift as a product or quotient by a power of two, if the shift distance allows it."""
        value, by = node.args
        if value is constant(1, Int32):
            least, most = self._simplify.numbers(by)
            if least is not None and most is not None and 0 <= least <= most <= 30:
                return Op(Int32, "shift_left", (value, self.formula(by)))
            return self._variable(node)
        whole = self._simplify.polynomial(node).expr()
        is_plain = isinstance(whole, Op) and whole.name not in SHIFTS
        return self.formula(whole) if is_plain else self._variable(node)

    @staticmethod
    def _is_plain(node: Op) -> bool:
        if node.name in LOGIC:
            return True
        if node.name in COMPARISONS:
            return all(a.type == Int32 for a in node.args)
        return node.type == Int32 and node.name in (*ARITHMETIC, "select")

    def _sum(self, node: Op) -> Expr:
        """A sum of products of values that are read. Unlike coordinates it may exceed int32 and
        wrap; then it becomes opaque.
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
        """Whether an operator cannot be the one quotient that wraps: the least number over -1."""
        if node.name != "div" or not node.loads:
            return True
        least, divisor = (self._ranges.of(a).min for a in node.args)
        return least is not None or (isinstance(divisor, Const) and divisor.value >= 0)

    def _is_exact_magnitude(self, node: Op) -> bool:
        """Whether the magnitude of an int32 fits an int32."""
        (value,) = node.args
        return value.type == Int32 and not (value.loads and self._ranges.of(value).min is None)

    def _normal(self, node: Expr) -> Expr:
        """A read in one normal form for each place."""
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
        self._done[node] = variable
        if not node.type.is_float:
            self.limits[name] = self._ends(node, variable)
        return variable

    def _end(self, node: Expr, end: Expr | None) -> Expr | None:
        """A limit of a value as a formula: a number, or a limit that holds at all coordinates. The
        latter is for reads, and for whole numbers from floats.
        """
        if isinstance(end, Const):
            return constant(int(end.value), Int32)
        if end is None or end.loads or end.type != Int32 or end is node:
            return None
        is_general = isinstance(node, Call) or (touches_floats(node) and not has_loops(end))
        return self.formula(end) if is_general else None
