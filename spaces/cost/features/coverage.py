"""The values of each Var that the iterations of a loop cover.

A loop along one Var covers one value in each iteration. A loop made by ``fuse`` counts like the
wheels of an odometer: its inner Var turns fastest, and only when this Var has gone through all its
values does the outer one move. So its iterations are the product of the values that it covers of
each Var, and a split of it takes whole wheels from the fastest on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.splits import Step
from spaces.model.schedules.domain_order import Fuse

Wheels: TypeAlias = tuple[tuple[str, Expr], ...]
"""The Vars that a loop moves along, the fastest first, each with the number of its values."""


def covered(
    steps: Iterable[Step], once: Iterable[str], simplify: Simplifier
) -> Mapping[str, Wheels]:
    """The wheels of the loops that the splits and fuses of a stage make, and those of the loops
    that run ``once``, which have none; by the name of the loop. A Var that is neither split nor
    fused is missing: it is its own only wheel.

    The result is exact where the factor of a split of a fused loop divides the number of values of
    a wheel, or the other way round; else the outer loop seems to have a few iterations more.
    """
    loops: dict[str, Wheels] = dict.fromkeys(once, ())
    for step in steps:
        record = step.record
        if isinstance(record, Fuse):
            inner = loops.pop(record.inner, ((record.inner, step.first[1]),))
            outer = loops.pop(record.outer, ((record.outer, step.second[1]),))
            loops[record.fused] = inner + outer
        else:
            old = loops.pop(record.old, ((record.old, step.first[1]),))
            halves = _split(old, step.second[1], simplify)
            loops[record.inner], loops[record.outer] = halves
    return loops


def _split(wheels: Wheels, factor: Expr, simplify: Simplifier) -> tuple[Wheels, Wheels]:
    """The wheels inside a tile of ``factor`` iterations, and those of the loop over tiles."""
    inner, outer = [], []
    for name, values in wheels[:-1]:
        inside = simplify(fn.min(values, factor))
        inner.append((name, inside))
        outer.append((name, simplify((values + inside - 1) / inside)))
        factor = simplify((factor + inside - 1) / inside)
    for name, values in wheels[-1:]:
        inner.append((name, factor))
        outer.append((name, simplify((values + factor - 1) / factor)))
    return tuple(inner), tuple(outer)
