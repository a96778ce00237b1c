"""What a prefetch loads: the box that a loop's body will read in a later iteration."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import substitute
from spaces.model.formulas.interval import Box, Interval
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import PrefetchBound
from spaces.model.schedules.levels import LoopOf
from spaces.model.schedules.schedule import StageOf


@frozen
class Ahead:
    """At the beginning of an iteration ``box`` of ``target`` is prefetched, where ``condition``
    holds.
    """

    target: str
    box: Box
    condition: Expr | None


def ahead(bounds: Bounds, loop: LoopVar) -> Iterator[Ahead]:
    """What is prefetched at the beginning of each iteration of a loop."""
    named = LoopOf(loop.func, loop.stage, loop.loop)
    for stage in bounds.levels.sharing(named):
        yield from _of_stage(bounds, named, stage)


def _of_stage(bounds: Bounds, loop: LoopOf, stage: StageOf) -> Iterator[Ahead]:
    """The prefetches of one stage that runs in the loop."""
    for record in bounds.schedule.of(stage.func).stages[stage.stage].prefetches:
        if record.at != loop.loop:
            continue
        own = bounds.placements[stage.func].stages[stage.stage].loops
        origin = next(one for one in own if one.loop == record.origin)
        later: Expr = origin.var + record.offset
        condition: Expr | None = None
        if record.bound is PrefetchBound.CLAMP:
            later = fn.min(later, origin.max)
        elif record.bound is PrefetchBound.GUARD_WITH_IF:
            condition = bounds.simplify(later <= origin.max)
        box = tuple(
            Interval(
                None if i.min is None else substitute(i.min, {origin.var.name: later}),
                None if i.max is None else substitute(i.max, {origin.var.name: later}),
            )
            for i in bounds.read_inside(record.target, loop)
        )
        yield Ahead(record.target, box, condition)
