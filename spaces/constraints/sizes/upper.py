"""Constant upper bounds of sizes: a kernel is compiled once, for the largest size."""

from __future__ import annotations

from collections.abc import Callable

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.traversal import LoopVar, loop_ranges

_MOST_CASES = 4
"""The deepest nesting of minima and selects that is taken apart."""

_MOST_FORMS = 40
"""The most forms of a size that are tried. Nested selects make thousands, and mostly none has a
bound.
"""


def upper_bound(
    expr: Expr,
    loops: tuple[LoopVar, ...],
    simplify: Simplifier,
    is_constant: Callable[[Expr], bool],
) -> Expr:
    """An upper bound of ``expr`` while ``loops`` run that ``is_constant`` accepts.

    If none is found, the largest value of ``expr`` as a formula over sizes, or ``expr`` itself.
    """
    found = _UpperBound(simplify, is_constant).bound(expr, _MOST_CASES)
    if found is not None:
        return found
    names = {loop.var.name for loop in loops}
    varies = not names.isdisjoint(expr.names)
    most = Ranges(simplify, loop_ranges(loops, simplify)).most(expr) if varies else None
    if most is not None and is_constant(most):
        return most
    _, number = simplify.ends(simplify.polynomial(expr))
    if number is not None:
        return constant(number, Int32)
    return expr if most is None else most


class _UpperBound:
    """Takes minima and selects apart until the rest cancels, as in the end of a tile minus its
    beginning.
    """

    def __init__(self, simplify: Simplifier, is_constant: Callable[[Expr], bool]) -> None:
        self.simplify = simplify
        self.is_constant = is_constant
        self._tried: dict[tuple[Expr, int], Expr | None] = {}

    def bound(self, expr: Expr, cases: int) -> Expr | None:
        """A constant upper bound of ``expr``, or None."""
        key = (expr, cases)
        if key not in self._tried:
            if len(self._tried) >= _MOST_FORMS:
                return None
            self._tried[key] = None
            self._tried[key] = self._bound(expr, cases)
        return self._tried[key]

    def _bound(self, expr: Expr, cases: int) -> Expr | None:
        form = self.simplify.polynomial(expr)
        whole = self.simplify.normal(form)
        is_found = self.is_constant(whole) and Int32.holds(form.offset)
        if is_found or not cases:
            return whole if is_found else None
        for node in walk(whole):
            if isinstance(node, Op) and node.name in ("min", "select"):
                found = self._below(whole, node, cases - 1) if node.name == "min" else None
                if found is None:
                    found = self._either(whole, node, cases - 1)
                if found is not None:
                    return found
        return None

    def _below(self, whole: Expr, minimum: Op, cases: int) -> Expr | None:
        """The bound with an operand instead of the minimum, if that can only increase ``whole``."""
        for operand in minimum.args:
            larger = _replaced(whole, minimum, operand)
            if self._adds(whole, minimum) or self.simplify.at_most(whole, larger):
                found = self.bound(larger, cases)
                if found is not None:
                    return found
        return None

    def _adds(self, whole: Expr, minimum: Op) -> bool:
        """Whether ``whole`` is a positive number times the minimum, plus terms without it."""
        parts = self.simplify.polynomial(whole).split(minimum)
        if parts is None:
            return False
        factor, rest = parts
        return (factor.constant or 0) > 0 and all(n is not minimum for n in walk(rest.expr()))

    def _either(self, whole: Expr, choice: Op, cases: int) -> Expr | None:
        """The largest bound over all values of a minimum or a select."""
        largest: Expr | None = None
        for value in choice.args[-2:]:
            found = self.bound(_replaced(whole, choice, value), cases)
            if found is None:
                return None
            largest = found if largest is None else fn.max(largest, found)
        return None if largest is None else self.simplify(largest)


def _replaced(expr: Expr, part: Expr, other: Expr) -> Expr:
    return rewrite(expr, lambda node: other if node is part else node)
