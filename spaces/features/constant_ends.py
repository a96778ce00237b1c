"""The whole numbers between which a coordinate always lies, such as a remainder."""

from __future__ import annotations

from functools import lru_cache

from spaces.model.expressions.expr import Const, Expr
from spaces.model.formulas.interval import UNBOUNDED
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier


@lru_cache(maxsize=4096)
def constant_ends(coordinate: Expr, moving: frozenset[str]) -> tuple[int, int] | None:
    """The least and the largest value of a coordinate whatever the variables in ``moving`` are;
    None if one is not a number. ``x % 147`` lies between 0 and 146.
    """
    simplify = Simplifier()
    found = Ranges(simplify, dict.fromkeys(moving, UNBOUNDED)).of(coordinate)
    if found.min is None or found.max is None:
        return None
    least, most = simplify(found.min), simplify(found.max)
    if not isinstance(least, Const) or not isinstance(most, Const):
        return None
    return int(least.value), int(most.value)
