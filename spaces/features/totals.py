"""Counts in a loop nest: sums over iterations, and values in a typical iteration.

The result is a formula without loop variables. It is exact if bounds do not depend on outer loops,
depend on them linearly, or differ only in the first iteration (a sliding window that fills up).
Bounds that repeat every few iterations, as those of a window over half as many lines, count with
the average of a period. In other cases, such as a shorter last tile, every iteration counts like
the middle one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import TypeAlias

from attrs import define, evolve, field, frozen

from spaces.features.periods import period
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Op, constant
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.memo import Memo
from spaces.model.nest.traversal import LoopVar

LONGEST_PERIOD = 16
"""Values that repeat after more iterations than these, of nested loops together, count like the
middle one. Without this limit, a formula would double with each loop.
"""

ONE = constant(1, Int32)
_ZERO = constant(0, Int32)
_LARGE = 2**30


def times(a: Expr, b: Expr) -> Expr:
    """``a * b``, unsimplified: counts exceed int32, in which the simplifier would wrap."""
    if a is ONE or b is ONE:
        return b if a is ONE else a
    return Op(Int32, "mul", (a, b))


def product(factors: Sequence[Expr]) -> Expr:
    """The product of ``factors``, 1 without any."""
    result: Expr = ONE
    for factor in factors:
        result = times(result, factor)
    return result


def plus(a: Expr, b: Expr) -> Expr:
    """``a + b``, unsimplified."""
    return Op(Int32, "add", (a, b))


Factors: TypeAlias = tuple[Expr, ...]
"""A product of coordinates and extents, each simplified. They fit into 32 bits, while products of
them do not, so products are never simplified."""


@frozen
class _Sum:
    """A sum of products with coefficients, divided by a number.

    Attributes:
        terms: the coefficient of each product.
        divisor: what the whole is divided by.
    """

    terms: Mapping[Factors, int]
    divisor: int = 1

    @staticmethod
    def of(value: Expr) -> _Sum:
        """One factor alone."""
        return _Sum.added([((), 1, _Sum({(value,): 1}))])

    @staticmethod
    def added(parts: Iterable[tuple[Factors, int, _Sum]]) -> _Sum:
        """The sum of sums, each times factors and a number."""
        parts = tuple(parts)
        divisor = math.lcm(*(part.divisor for _, _, part in parts))
        terms: dict[Factors, int] = {}
        for factors, coefficient, part in parts:
            scale = coefficient * (divisor // part.divisor)
            for more, count in part.terms.items():
                product_of_both, number = _collect_numbers((*factors, *more), scale * count)
                terms[product_of_both] = terms.get(product_of_both, 0) + number
        return _Sum(terms, divisor)

    def times(self, other: _Sum) -> _Sum:
        """The product of two sums."""
        parts = [(factors, count, other) for factors, count in self.terms.items()]
        whole = _Sum.added(parts)
        return evolve(whole, divisor=whole.divisor * self.divisor)

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables in it."""
        return frozenset().union(*(f.names for factors in self.terms for f in factors))

    @property
    def multiple(self) -> Expr:
        """The sum times its divisor, as a formula."""
        parts = [times(_number(count), product(factors)) for factors, count in self.terms.items()]
        return reduce(plus, parts)


def _collect_numbers(factors: Factors, coefficient: int) -> tuple[Factors, int]:
    """Factors and a coefficient with the numbers among the factors in the coefficient."""
    kept = []
    for factor in factors:
        if isinstance(factor, Const):
            coefficient *= int(factor.value)
        else:
            kept.append(factor)
    return tuple(kept), coefficient


def _number(value: int) -> Expr:
    """A number as a formula; one beyond 32 bits as arithmetic."""
    if Int32.holds(value):
        return constant(value, Int32)
    high, low = divmod(value, _LARGE)
    return plus(times(_number(high), constant(_LARGE, Int32)), constant(low, Int32))


_ONE = _Sum({(): 1})


KEPT = 8192
"""How many totals are kept for similar nests."""


@define
class Totals:
    """Sums over the loops of one nest; ``simplify`` knows the ranges of their variables.

    What ``shared`` has is taken from there: typical values, and how often bodies run, by the loops
    and by ``surroundings``, what is known of sizes (:attr:`Bounds.surroundings`).
    """

    simplify: Simplifier
    shared: Memo[Expr] = field(factory=lambda: Memo[Expr](KEPT))
    surroundings: Hashable = 0
    _typical: dict[Expr, Expr] = field(init=False, factory=dict)
    _sums: dict[tuple[Factors, LoopVar], _Sum] = field(init=False, factory=dict)

    def total(self, value: Expr, loops: Sequence[LoopVar]) -> Expr:
        """The sum of ``value`` over all iterations of ``loops``, outermost first."""
        extents = [loop.extent for loop in loops]
        factors = [factor for factor in (value, *extents) if isinstance(factor, Const)]
        if len(factors) > len(extents):
            return _number(math.prod(int(factor.value) for factor in factors))
        groups = [_Sum.of(factor) for factor in _factors(value)]
        for loop in reversed(loops):
            moving = [group for group in groups if loop.var.name in group.names]
            if moving:
                groups = [group for group in groups if loop.var.name not in group.names]
            groups.append(self._sum_over(moving, loop) if moving else _Sum.of(loop.extent))
        whole = product([group.multiple for group in groups])
        divisor = math.prod(group.divisor for group in groups)  # once, so that it is rounded once
        return whole if divisor == 1 else Op(Int32, "div", (whole, _number(divisor)))

    def _sum_over(self, groups: Sequence[_Sum], loop: LoopVar) -> _Sum:
        """The sum of a product of sums over all iterations of a loop."""
        whole = reduce(_Sum.times, groups)
        name = loop.var.name
        parts = []
        for factors, count in whole.terms.items():
            fixed = tuple(factor for factor in factors if name not in factor.names)
            moving = tuple(factor for factor in factors if name in factor.names)
            parts.append((fixed, count, self._sum(moving, loop)))
        added = _Sum.added(parts)
        return evolve(added, divisor=added.divisor * whole.divisor)

    def _sum(self, moving: Factors, loop: LoopVar) -> _Sum:
        """The sum of a product over all iterations of a loop on which its factors depend."""
        known = self._sums.get((moving, loop))
        if known is None:
            known = self._sums[moving, loop] = _Sum.added(self._parts(moving, loop))
        return known

    def _parts(self, moving: Factors, loop: LoopVar) -> Iterator[tuple[Factors, int, _Sum]]:
        """The product in the first iteration, and its sum over the others."""
        if not moving:
            yield (), 1, _Sum.of(loop.extent)
            return
        simplify, name = self.simplify, loop.var.name
        yield tuple(simplify(substitute(one, {name: loop.min})) for one in moving), 1, _ONE
        steady = tuple(_skip_first(one, loop) for one in moving)
        fixed = tuple(one for one in steady if name not in one.names)
        later = [one for one in steady if name in one.names]
        count = simplify(loop.extent - 1)
        if not later:
            yield (*fixed, count), 1, _ONE
            return
        if len(later) == 1:
            (value,) = later
            step = simplify(substitute(value, {name: loop.var + 1}) - value)
            if name not in step.names:
                second = simplify(substitute(value, {name: loop.min + 1}))
                yield (*fixed, second, count), 1, _ONE
                if step is not _ZERO:
                    pairs = (*fixed, step, count, simplify(loop.extent - 2))
                    yield pairs, 1, evolve(_ONE, divisor=2)
                return
        periods = [self._period(value, loop) for value in later]
        length = math.lcm(*map(len, periods))
        for i in range(length):
            at = (values[i % len(values)] for values in periods)
            yield (*fixed, *at, count), 1, evolve(_ONE, divisor=length)

    def count(self, loops: Sequence[LoopVar]) -> Expr:
        """How often the body of the innermost of ``loops`` runs."""
        key = self.surroundings, None, tuple(loops)
        known = self.shared.find(key)
        return (known or self.shared.keep(key, self.total(ONE, loops))).value

    def typical(self, value: Expr, loops: Sequence[LoopVar]) -> Expr:
        """``value`` in an iteration that is neither the first nor at an edge. If values repeat, the
        largest of a period.
        """
        known = self._typical.get(value)
        if known is None:
            moves = any(loop.var.name in value.names for loop in loops)
            known = self._typical[value] = self._shared_typical(value, loops) if moves else value
        return known

    def _shared_typical(self, value: Expr, loops: Sequence[LoopVar]) -> Expr:
        key = self.surroundings, value, tuple(loops)
        known = self.shared.find(key)
        if known is None:
            known = self.shared.keep(key, self._find_largest(value, loops))
        return known.value

    def _find_largest(self, value: Expr, loops: Sequence[LoopVar]) -> Expr:
        """The largest of the values that repeat in nested loops."""
        typical, most = value, LONGEST_PERIOD
        for loop in reversed(loops):
            if loop.var.name in typical.names:
                values = self._period(_skip_first(typical, loop), loop, most)
                typical = self.simplify(reduce(fn.max, dict.fromkeys(values)))
                most //= len(values)
        return typical

    def _period(self, value: Expr, loop: LoopVar, most: int = LONGEST_PERIOD) -> list[Expr]:
        """``value`` in the iterations from the middle on, until it repeats. In a shorter loop, in
        all iterations but the first. If it repeats after more than ``most`` iterations, in the
        middle one alone.
        """
        length = period(value, loop.var.name).length
        count = length if length <= most else 1
        return [
            self.simplify(substitute(value, {loop.var.name: at}))
            for at in _middle_iterations(loop, count)
        ]


def _middle_iterations(loop: LoopVar, count: int) -> list[Expr]:
    """``count`` iterations of a loop from the middle on, none beyond its end."""
    if isinstance(loop.extent, Const):
        trips = int(loop.extent.value)
        count = min(count, max(trips - 1, 1))
        first = min(trips // 2, trips - count)
        return [loop.min + i for i in range(first, first + count)]
    middle = (loop.min + loop.max + 1) / 2
    return [middle, *(fn.min(middle + i, loop.max) for i in range(1, count))]


def _factors(value: Expr) -> Iterator[Expr]:
    """The factors of a product, each simplified before."""
    if isinstance(value, Op) and value.name == "mul":
        for one in value.args:
            yield from _factors(one)
    else:
        yield value


def _skip_first(value: Expr, loop: LoopVar) -> Expr:
    """``value`` as it is in all iterations but the first."""

    def later(node: Expr) -> Expr:
        if isinstance(node, Op) and node.name == "select" and _asks_for_first(node, loop):
            return node.args[2]
        return node

    return rewrite(value, later)


def _asks_for_first(node: Op, loop: LoopVar) -> bool:
    condition = node.args[0]
    return (
        isinstance(condition, Op)
        and condition.name == "eq"
        and condition.args[0] is loop.var
        and condition.args[1] is loop.min
    )
