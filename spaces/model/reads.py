"""Which coordinates a stage reads of each Func and image.

A stencil reads many coordinates that differ by numbers only; bounds inference asks once for all of
them. What is found here depends on the algorithm alone, and is kept.
"""

from __future__ import annotations

from functools import lru_cache

from attrs import field, frozen

from spaces.model.expr import Expr, Op, walk
from spaces.model.pipeline import Stage
from spaces.model.polynomial import Polynomial
from spaces.model.simplify import Simplifier
from spaces.model.types import Int32


@frozen
class Window:
    """The coordinates ``base + low`` and ``base + high`` along one dimension, and some between.

    ``written`` is one of them, as in the algorithm; ``base`` is in normal form.
    """

    base: Expr
    low: int
    high: int
    written: Expr


@frozen
class Reads:
    """What one stage reads.

    Attributes:
        windows: by Func or image, for each of its dimensions the distinct windows along it.
        forms: the normal forms of all coordinates, and of what they are made of, that mention the
            stage's own Vars or RVars: nothing that a schedule says makes them simpler.
    """

    windows: dict[str, tuple[tuple[Window, ...], ...]]
    forms: dict[Expr, Polynomial] = field(repr=False)


@lru_cache(maxsize=4096)
def reads(stage: Stage) -> Reads:
    """What a stage reads, its own Func included."""
    simplify = Simplifier()
    calls: dict[str, list[tuple[Expr, ...]]] = {}
    for call in stage.calls:
        calls.setdefault(call.target, []).append(call.args)
    windows = {
        target: tuple(_windows(dict.fromkeys(c), simplify) for c in zip(*accesses, strict=True))
        for target, accesses in calls.items()
    }
    bases = [w.base for columns in windows.values() for column in columns for w in column]
    own = frozenset(stage.dimensions)
    return Reads(
        windows,
        {
            node: simplify.polynomial(node)
            for node in walk(*bases)
            if isinstance(node, Op) and node.type is Int32 and not own.isdisjoint(node.names)
        },
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
