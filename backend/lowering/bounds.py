"""The largest value that a size inside a kernel can have, as a number."""

from __future__ import annotations

from spaces.model.expr import Const, Expr, Op, walk
from spaces.model.regions import Interval, Ranges
from spaces.model.rewrite import rewrite, variables
from spaces.model.simplify import Simplifier

_MOST_SELECTS = 4
"""Each doubles the number of cases."""


def largest(expr: Expr, known: Simplifier) -> int | None:
    """A number that ``expr`` never exceeds, the least that is found; None where none is."""
    found = [
        bound
        for bound in (_by_proof(expr, known), _by_cases(expr, known), _by_intervals(expr, known))
        if bound is not None
    ]
    return min(found, default=None)


def _by_proof(expr: Expr, known: Simplifier) -> int | None:
    """Knows that a tile's end, less its beginning, is the tile."""
    least = known.lower(known.polynomial(known(expr)).scaled(-1))
    return None if least is None else -least


def _by_cases(expr: Expr, known: Simplifier) -> int | None:
    """The larger of what each arm of a ``select`` gives: what a window slides at first is more."""
    simple = known(expr)
    selects = [n for n in walk(simple) if isinstance(n, Op) and n.name == "select"]
    if not 0 < len(selects) <= _MOST_SELECTS:
        return None
    last = selects[-1]
    bounds = []
    for arm in last.args[1:]:
        case = _replaced(simple, last, arm)
        bounds.append(_by_proof(case, known) if len(selects) == 1 else _by_cases(case, known))
    numbers = [bound for bound in bounds if bound is not None]
    return max(numbers) if len(numbers) == len(bounds) else None


def _replaced(expr: Expr, part: Expr, other: Expr) -> Expr:
    """``expr`` with ``other`` wherever ``part`` stands."""
    return rewrite(expr, lambda node: other if node is part else node)


def _by_intervals(expr: Expr, known: Simplifier) -> int | None:
    """Knows of each operator what it does to the ends of its operands."""
    most: Expr | None = known(expr)
    for _ in range(len(variables(expr)) + 1):
        if most is None or isinstance(most, Const):
            break
        limits = {name: known.known(name) for name in variables(most)}
        ranges = {
            n: Interval(a, b) for n, (a, b) in limits.items() if a is not None and b is not None
        }
        most = Ranges(known, ranges).of(most).max if ranges else None
    return int(most.value) if isinstance(most, Const) else None
