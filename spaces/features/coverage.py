"""The values of each Var that the iterations of a loop cover.

A loop along one Var covers one value in each iteration. A loop made by ``fuse`` counts like a
number with several digits. Its inner Var is the fastest digit; the outer Var moves on when the
inner one has gone through all its values. So the iterations of the loop are the product of the
values that it covers of each Var. The inner loop of a split takes the fastest digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.splits import Step
from spaces.model.schedules.domain_order import Fuse

Coverage: TypeAlias = tuple[tuple[str, Expr], ...]
"""The Vars that a loop moves along, the fastest first, each with the number of its values."""


def coverage_by_loop(
    steps: Iterable[Step], once: Iterable[str], simplify: Simplifier
) -> Mapping[str, Coverage]:
    """The coverage of each loop that splits and fuses make, by the name of the loop. The loops of
    ``once`` cover no Var. A Var that is neither split nor fused is missing: its loop covers it.

    The result is exact where the factor of a split of a fused loop divides the number of values of
    a Var, or the other way round. Else the outer loop seems to have a few iterations more.
    """
    loops: dict[str, Coverage] = dict.fromkeys(once, ())
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


def _split(coverage: Coverage, factor: Expr, simplify: Simplifier) -> tuple[Coverage, Coverage]:
    """The coverage of the loop in a tile of ``factor`` iterations, and of that over the tiles."""
    inner, outer = [], []
    for name, values in coverage[:-1]:
        inside = simplify(fn.min(values, factor))
        inner.append((name, inside))
        outer.append((name, simplify((values + inside - 1) / inside)))
        factor = simplify((factor + inside - 1) / inside)
    for name, values in coverage[-1:]:
        inner.append((name, factor))
        outer.append((name, simplify((values + factor - 1) / factor)))
    return tuple(inner), tuple(outer)
