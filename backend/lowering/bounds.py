"""The largest value that a size inside a kernel can have, as a number."""

from __future__ import annotations

from spaces.model.expr import Expr
from spaces.model.simplify import Simplifier


def largest(expr: Expr, known: Simplifier) -> int | None:
    """A number that ``expr`` never exceeds, the least that is found; None where none is."""
    least = known.lower(known.polynomial(known(expr)).scaled(-1))
    return None if least is None else -least
