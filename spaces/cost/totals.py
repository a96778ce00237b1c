"""Counts in a loop nest: sums over iterations, and values in a typical iteration.

The result is a formula without loop variables. It is exact if bounds do not depend on outer loops,
depend on them linearly, or differ only in the first iteration (a sliding window that fills up). If
they repeat every few iterations, as those of a window over half as many lines do, an average period
counts. In other cases, such as a shorter last tile, every iteration counts like the middle one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from attrs import define, field

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Op, constant
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.traversal import LoopVar

LONGEST_PERIOD = 16
"""Values that repeat after more iterations count like the middle one."""

ONE = constant(1, Int32)
_ZERO, _TWO = constant(0, Int32), constant(2, Int32)


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


@define
class Totals:
    """Sums over the loops of one nest; ``simplify`` knows the ranges of their variables."""

    simplify: Simplifier
    _typical: dict[Expr, Expr] = field(factory=dict)

    def total(self, value: Expr, loops: Sequence[LoopVar]) -> Expr:
        """The sum of ``value`` over all iterations of ``loops``, outermost first."""
        multiple = 1  # of the sum, so that an average is rounded once
        for loop in reversed(loops):
            extent = loop.extent
            if loop.var.name not in value.names:
                value = times(value, extent)
                continue
            first = self.simplify(substitute(value, {loop.var.name: loop.min}))
            later, repeats = self._later(_steady(value, loop), loop)
            value = plus(times(first, constant(repeats, Int32)), later)
            multiple *= repeats
        return value if multiple == 1 else Op(Int32, "div", (value, constant(multiple, Int32)))

    def _later(self, value: Expr, loop: LoopVar) -> tuple[Expr, int]:
        """A multiple of the sum of ``value`` over all iterations but the first, and which."""
        simplify, name = self.simplify, loop.var.name
        count = simplify(loop.extent - 1)
        step = simplify(substitute(value, {name: loop.var + 1}) - value)
        if name in step.names:
            values = self._period(value, loop)
            return times(reduce(plus, values), count), len(values)
        second = simplify(substitute(value, {name: loop.min + 1}))
        if step is _ZERO:
            return times(second, count), 1
        pairs = Op(Int32, "div", (times(count, simplify(loop.extent - 2)), _TWO))
        return plus(times(second, count), times(step, pairs)), 1

    def count(self, loops: Sequence[LoopVar]) -> Expr:
        """How often the body of the innermost of ``loops`` runs."""
        return self.total(ONE, loops)

    def typical(self, value: Expr, loops: Sequence[LoopVar]) -> Expr:
        """``value`` in an iteration that is neither the first nor at an edge; the largest of those
        that repeat.
        """
        known = self._typical.get(value)
        if known is None:
            known = value
            for loop in reversed(loops):
                if loop.var.name in known.names:
                    known = self._typical_of(known, loop)
            self._typical[value] = known
        return known

    def _typical_of(self, value: Expr, loop: LoopVar) -> Expr:
        values = dict.fromkeys(self._period(_steady(value, loop), loop))
        return self.simplify(reduce(fn.max, values))

    def _period(self, value: Expr, loop: LoopVar) -> list[Expr]:
        """``value`` in the iterations from the middle on, until it repeats."""
        name, middle = loop.var.name, (loop.min + loop.max + 1) / 2
        period = _period(value, name)
        return [
            self.simplify(substitute(value, {name: middle + i}))
            for i in range(period if period <= LONGEST_PERIOD else 1)
        ]


def _period(value: Expr, name: str) -> int:
    """After how many values of a variable the rounding in ``value`` repeats."""
    if name not in value.names or not isinstance(value, Op):
        return 1
    period = math.lcm(*(_period(one, name) for one in value.args))
    if value.name in ("div", "mod") and _moves_evenly(value.args[0], name):
        divisor = value.args[1]
        period *= abs(int(divisor.value)) if isinstance(divisor, Const) else 1
    return max(period, 1)


def _moves_evenly(value: Expr, name: str) -> bool:
    """Whether a variable occurs in ``value`` times a constant, unlike the index of a tile, which is
    multiplied by a size.
    """
    if name not in value.names:
        return False
    if isinstance(value, Op) and value.name == "mul":
        return any(isinstance(a, Const) for a in value.args) and any(
            _moves_evenly(a, name) for a in value.args
        )
    if isinstance(value, Op):
        return any(_moves_evenly(a, name) for a in value.args)
    return True


def _steady(value: Expr, loop: LoopVar) -> Expr:
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
