"""The demand for a Func in iterations of fused loops, where some stages skip some iterations.

A consumer that does not run in an iteration demands nothing there. If no consumer runs, the Func
is not computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from attrs import frozen

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Bool
from spaces.model.formulas.boxes import united
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.simplify import Simplifier

ALWAYS = constant(True, Bool)
"""The condition that holds in every iteration."""


@frozen
class Demand:
    """Iterations in which ``condition`` holds demand ``box``."""

    condition: Expr
    box: Box


def demanded(demands: Iterable[Demand], simplify: Simplifier) -> Demand:
    """The union of one or more demands in an iteration."""
    return reduce(lambda a, b: _either(a, b, simplify), demands)


def _either(a: Demand, b: Demand, simplify: Simplifier) -> Demand:
    both = simplify(a.condition & b.condition)

    def chosen(united: Expr | None, first: Expr | None, second: Expr | None) -> Expr | None:
        if united is None or first is None or second is None:
            return united
        return simplify(fn.select(both, united, fn.select(a.condition, first, second)))

    box = []
    for one, other in zip(a.box, b.box, strict=True):
        whole = united((one, other), simplify)
        low = chosen(whole.min, one.min, other.min)
        box.append(Interval(low, chosen(whole.max, one.max, other.max)))
    return Demand(simplify(a.condition | b.condition), tuple(box))
