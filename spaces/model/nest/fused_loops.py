"""Loops of stages that are computed with each other, as one loop each.

The fused loop runs from the first iteration of any of them to the last of any; in each it does what
the loops have to do there.
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
from spaces.model.schedules.schedule import Companion, LoopAlign, StageOf
from spaces.model.schedules.together import Fused


def joined(
    turn: Fused,
    depths: Mapping[StageOf, int],
    pairs: Mapping[StageOf, Companion],
    traversals: Mapping[StageOf, Traversal],
    simplify: Simplifier,
) -> dict[StageOf, Traversal]:
    """The traversals of stages whose ``depths`` outermost loops are fused."""
    members = (turn.root, *turn.children)
    found = {stage: traversals[stage] for stage in members}
    for depth in range(max(depths[stage] for stage in turn.children)):
        inside = [s for s in members if s == turn.root or depths[s] > depth]
        own = {stage: traversals[stage].loops[depth] for stage in inside}
        shifts = _shifts(own, pairs, simplify)
        loop = _fused(own[turn.root], [(own[s], shifts[s]) for s in inside], simplify)
        for stage in inside:
            before, one = found[stage], own[stage]
            loops = (*before.loops[:depth], loop, *before.loops[depth + 1 :])
            place = Joined(one.loop, shifts[stage], one.min, one.max)
            found[stage] = evolve(before, loops=loops, joined=(*before.joined, place))
    return found


def _shifts(
    own: Mapping[StageOf, LoopVar], pairs: Mapping[StageOf, Companion], simplify: Simplifier
) -> dict[StageOf, Expr]:
    """How much later the iterations of each loop come than their numbers say; a stage stands
    behind the one that it is computed with.
    """
    shifts: dict[StageOf, Expr] = {}
    for stage, loop in own.items():
        zero = simplify(loop.min * 0)
        other = pairs[stage].other if stage in pairs else stage
        if other not in shifts:
            shifts[stage] = zero
            continue
        beside, later = own[other], shifts[other]
        match pairs[stage].align(loop.loop):
            case LoopAlign.ALIGN_START:
                shifts[stage] = simplify(beside.min + later - loop.min)
            case LoopAlign.ALIGN_END:
                shifts[stage] = simplify(beside.max + later - loop.max)
            case _:
                shifts[stage] = zero
    return shifts


def _fused(root: LoopVar, loops: list[tuple[LoopVar, Expr]], simplify: Simplifier) -> LoopVar:
    low = simplify(reduce(fn.min, (loop.min + shift for loop, shift in loops)))
    high = simplify(reduce(fn.max, (loop.max + shift for loop, shift in loops)))
    var = Variable(Int32, f"{root.var.name}.fused")
    simplify.assume(var.name, low, high)
    return evolve(root, var=var, min=low, max=high, extent=simplify(high - low + 1))
