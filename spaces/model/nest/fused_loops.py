"""Loops of stages that are computed with each other, as one loop each.

The fused loop runs from the first iteration of any of them to the last of any. Each iteration runs
those stages that have an iteration there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from attrs import evolve

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.traversal import Joined, LoopVar, Traversal
from spaces.model.schedules.fused_groups import Fused, FusedGroups
from spaces.model.schedules.schedule import Companion, LoopAlign, StageOf


def joined(
    turn: Fused,
    groups: FusedGroups,
    traversals: Mapping[StageOf, Traversal],
    simplify: Simplifier,
    depth: int = 0,
) -> dict[StageOf, Traversal]:
    """The traversals of stages that already share ``depth`` loops with others."""
    found = {stage: traversals[stage] for stage in turn.stages}
    if not turn.inside:
        return found
    own = {stage: one.loops[depth] for stage, one in found.items()}
    shifts = {stage: _shift(stage, own, groups.pairs, simplify) for stage in own}
    loop = _fused(own[turn.root], [(own[s], shifts[s]) for s in own], simplify)
    for stage, before in found.items():
        one = own[stage]
        loops = (*before.loops[:depth], loop, *before.loops[depth + 1 :])
        place = Joined(one.loop, shifts[stage], one.min, one.max)
        joins = (*before.joined, place)
        found[stage] = Traversal.of(loops, before.steps, simplify, joins, before.when)
    for unit in turn.inside:
        found |= joined(unit, groups, found, simplify, depth + 1)
    return found


def _shift(
    stage: StageOf,
    own: Mapping[StageOf, LoopVar],
    pairs: Mapping[StageOf, Companion],
    simplify: Simplifier,
) -> Expr:
    """By how much the iterations of a loop are delayed in the fused loop."""
    loop = own[stage]
    zero = simplify(loop.min * 0)
    if stage not in pairs or pairs[stage].other not in own:
        return zero
    other = pairs[stage].other
    match pairs[stage].align(loop.loop):
        case LoopAlign.ALIGN_START:
            return simplify(own[other].min + _shift(other, own, pairs, simplify) - loop.min)
        case LoopAlign.ALIGN_END:
            return simplify(own[other].max + _shift(other, own, pairs, simplify) - loop.max)
    return zero


def _fused(root: LoopVar, loops: list[tuple[LoopVar, Expr]], simplify: Simplifier) -> LoopVar:
    low = simplify(reduce(fn.min, (loop.min + shift for loop, shift in loops)))
    high = simplify(reduce(fn.max, (loop.max + shift for loop, shift in loops)))
    var = Variable(Int32, f"{root.var.name}.fused")
    simplify.assume(var.name, low, high)
    return evolve(root, var=var, min=low, max=high, extent=simplify(high - low + 1))
