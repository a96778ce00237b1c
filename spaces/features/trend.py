"""Whether a formula can rise or fall while more Funcs are decided.

A minimum over the Funcs can only fall, and a sum of bytes can only rise.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto
from functools import reduce
from operator import or_

from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable


class Trend(Flag):
    """Whether a value may rise or fall; a condition rises when it becomes true."""

    STEADY = 0
    RISES = auto()
    FALLS = auto()
    ANY = RISES | FALLS

    @property
    def reversed(self) -> Trend:
        """The trend of the opposite value."""
        return {Trend.RISES: Trend.FALLS, Trend.FALLS: Trend.RISES}.get(self, self)


def trend(formula: Expr, of: Callable[[str], Trend]) -> Trend:
    """The trend of a formula.

    Args:
        formula: a number or a condition.
        of: the trend of each variable.
    """
    if isinstance(formula, Variable):
        return of(formula.name)
    trends = [trend(child, of) for child in formula.children]
    if not any(trends):
        return Trend.STEADY
    match formula:
        case Op(name="add" | "min" | "max" | "and" | "or"):
            return reduce(or_, trends)
        case Op(name="sub" | "gt" | "ge"):
            return trends[0] | trends[1].reversed
        case Op(name="lt" | "le"):
            return trends[0].reversed | trends[1]
        case Op(name="not"):
            return trends[0].reversed
        case Op(name="mul", args=(Const() as factor, _)):
            return trends[1] if factor.value >= 0 else trends[1].reversed
        case Op(name="mul" | "div", args=(_, Const() as factor)):
            return trends[0] if factor.value >= 0 else trends[0].reversed
        case Cast(type=wider, value=value) if wider.is_float or wider.bits > value.type.bits:
            return trends[0]
        case _:
            return Trend.ANY
