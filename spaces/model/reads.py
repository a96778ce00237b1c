"""Which coordinates a stage reads of each Func and image.

A stencil reads many coordinates that differ by numbers only; bounds inference asks once for all of
them. What is found here depends on the algorithm alone, and is kept.
"""

from __future__ import annotations

from functools import lru_cache

from attrs import frozen

from spaces.model.expr import Expr
from spaces.model.pipeline import Stage
from spaces.model.polynomial import Polynomial
from spaces.model.simplify import Simplifier


@frozen
class Window:
    """The coordinates ``base + low`` and ``base + high`` along one dimension, and some between.

    ``written`` is one of them, as in the algorithm.
    """

    base: Expr
    low: int
    high: int
    written: Expr


@lru_cache(maxsize=4096)
def reads(stage: Stage, target: str) -> tuple[tuple[Window, ...], ...]:
    """For each dimension of ``target`` the distinct windows along it that the stage reads; no
    dimensions where it does not read it.
    """
    simplify = Simplifier()
    accesses = [call.args for call in stage.calls if call.target == target]
    return tuple(
        _windows(dict.fromkeys(column), simplify) for column in zip(*accesses, strict=True)
    )


def _windows(coordinates: dict[Expr, None], simplify: Simplifier) -> tuple[Window, ...]:
    found: dict[Expr, Window] = {}
    for coordinate in coordinates:
        form = simplify.polynomial(coordinate)
        base = (form - Polynomial.of(form.offset)).expr()
        known = found.get(base)
        found[base] = Window(
            base,
            form.offset if known is None else min(known.low, form.offset),
            form.offset if known is None else max(known.high, form.offset),
            coordinate if known is None else known.written,
        )
    return tuple(found.values())
