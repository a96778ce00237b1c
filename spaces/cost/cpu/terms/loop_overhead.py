"""The cost of the loops of a stage without their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from spaces.cost.cpu.registers import WRITTEN_OUT, is_written_out
from spaces.cost.cpu.term import LOOP, Core, Price, StageWork, term
from spaces.features.features import Features
from spaces.features.records import LoopFeatures, StageFeatures, volume
from spaces.model.formulas.recorded import is_nowhere
from spaces.model.formulas.symbolic import (
    SymbolicCondition,
    SymbolicNumber,
    logical_not,
    minimum,
    where,
)
from spaces.model.schedules.domain_order import LoopKind

ITERATION = Price("iteration", 0.5, "an iteration of an innermost loop")
VISIT = Price("visit", 30.0, "entering an innermost loop")

_LONGEST = 300
"""Compilers write out no loop that becomes more instructions than these."""


@term(LOOP, ITERATION, VISIT)
def loop_overhead(core: Core, of: StageWork) -> SymbolicNumber:
    """Iterations and entries of the innermost loop. Loops that compilers write out are not the
    innermost one. The loops around the innermost one run too seldom to count. A loop that several
    stages share counts for the stage that gives it its name.
    """
    stage = of.stage
    own = [loop for loop in stage.own if not loop.kind.has_constant_extent]
    unrolled = [v.positive_trips for v in stage.own if v.kind is LoopKind.UNROLLED]
    work = stage.work
    instructions = work.operations.instructions + sum(a.reads for a in work.accesses) + 1
    size = volume(tuple(unrolled)) * instructions * of.registers
    return _innermost(core, of.features, stage, own, size)


def _innermost(
    core: Core,
    features: Features,
    stage: StageFeatures,
    loops: Sequence[LoopFeatures],
    size: SymbolicNumber,
) -> SymbolicNumber:
    """Cycles of the innermost one of some loops that is not written out; none if another stage
    gives it its name.

    Args:
        core: runs the loops.
        features: those of the schedule.
        stage: whose loops they are.
        loops: some of its own, outermost first; the others inside them are written out.
        size: the instructions inside the loops.
    """
    if not loops:
        return stage.visits * core[ITERATION]
    *around, loop = loops
    if loop.key[:2] != (stage.func, stage.index):
        return 0.0
    as_loop = _loop(core, stage, loop)
    written_out = is_written_out(features, loop)
    size = size * loop.positive_trips
    is_short = written_out & (size <= _LONGEST) & logical_not(_is_tile(stage, loop))
    if is_nowhere(is_short):
        return as_loop
    outer = minimum(_innermost(core, features, stage, around, size), as_loop)
    return where(is_short, outer, as_loop)


def _loop(core: Core, stage: StageFeatures, loop: LoopFeatures) -> SymbolicNumber:
    """Cycles of a loop of a stage if it is the innermost one."""
    outside = stage.loops[: stage.loops.index(loop)]
    entered = outside[-1].runs if outside else 1.0
    # All lanes of a vector go through the loops inside together.
    lanes = volume(tuple(v.positive_trips for v in outside if v.kind is LoopKind.VECTORIZED))
    # Compilers unroll loops of a few iterations.
    rolled = minimum(loop.trips / WRITTEN_OUT, 1.0)
    return (loop.runs * core[ITERATION] + entered * rolled * core[VISIT]) / lanes


def _is_tile(stage: StageFeatures, loop: LoopFeatures) -> SymbolicCondition:
    """Whether a loop goes through a part of a dimension, and a loop around it through the parts.
    Compilers write out tiles of a few vectors, but these are not faster than whole rows: they were
    up to 14 % slower.
    """
    around = stage.own[: stage.own.index(loop)]
    over_parts = (one for one in around if not set(loop.dimensions).isdisjoint(one.dimensions))
    return reduce(or_, (one.trips > 1 for one in over_parts), False)


TERMS = (loop_overhead,)
