"""What the loops of one stage visit of its box: all of it, and what tails reach beyond it.

Found split by split, from the final loops back to the Vars. Where the loops that a split made run
over just what it gave them, the ends follow from its tail alone.
"""

from __future__ import annotations

from typing import TypeAlias

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.splits import Division, Step, where_kept
from spaces.model.schedules.domain_order import Fuse, Tail

_Ends: TypeAlias = tuple[Expr, Expr]


def visits(
    division: Division, box: dict[str, Interval], simplify: Simplifier
) -> dict[str, Interval]:
    """The interval that each Var and RVar of ``box`` takes while all loops run and guards hold."""
    beyond: dict[str, _Ends] = {}
    for step in reversed(division.steps):
        if isinstance(step.record, Fuse):
            _unfused(step, step.record, beyond, simplify)
        else:
            outer = beyond.pop(step.record.outer, None)
            inner = beyond.pop(step.record.inner, None)
            reached = _joined(step, outer, inner, simplify)
            if reached is not None:
                beyond[step.record.old] = reached
    return {name: Interval(*beyond[name]) if name in beyond else i for name, i in box.items()}


def _joined(
    step: Step, outer: _Ends | None, inner: _Ends | None, simplify: Simplifier
) -> _Ends | None:
    """The ends of the loop that was split, or None where they are those of its range; ``outer`` and
    ``inner`` are None if these loops keep their ranges.
    """
    (low, extent), (zero, factor) = step.first, step.second
    if outer is None and inner is None:
        if step.tail is Tail.SHIFT_INWARDS and not simplify.at_most(factor, extent):
            last = low + extent - 1
            return simplify(fn.min(low, last - factor + 1)), simplify(last)
        if step.tail is Tail.ROUND_UP:
            return low, simplify(low + (extent + factor - 1) / factor * factor - 1)
        return None
    tiles = (zero, (extent + factor - 1) / factor - 1) if outer is None else outer
    lows, highs = (zero, factor - 1) if inner is None else inner
    first, final = (end * factor for end in tiles)
    if step.tail is Tail.SHIFT_INWARDS:
        first, final = (
            where_kept(step, end, fn.min(end, extent - factor)) for end in (first, final)
        )
    high = low + final + highs
    if step.tail is Tail.GUARD_WITH_IF:
        high = where_kept(step, high, fn.min(high, low + extent - 1))
    return simplify(low + first + lows), simplify(high)


def _unfused(step: Step, record: Fuse, beyond: dict[str, _Ends], simplify: Simplifier) -> None:
    """A fused loop that runs too far takes its outer loop too far; the inner one begins anew."""
    if record.fused in beyond:
        (_, inner_extent), (outer_low, _) = step.first, step.second
        low, high = beyond.pop(record.fused)
        zero = constant(0, Int32)
        beyond[record.outer] = (
            simplify(outer_low + fn.min(low / inner_extent, zero)),
            simplify(outer_low + high / inner_extent),
        )
