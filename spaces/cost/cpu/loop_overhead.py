"""The cost of the loops of a stage without their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from attrs import frozen

from spaces.cost.cpu.fused_loops import fused_loop_cycles
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.registers import WRITTEN_OUT, Registers, is_written_out
from spaces.cost.features.features import Features
from spaces.cost.features.records import LoopFeatures, StageFeatures, volume
from spaces.model.formulas.recorded import is_nowhere
from spaces.model.formulas.symbolic import (
    SymbolicCondition,
    SymbolicNumber,
    logical_not,
    minimum,
    where,
)
from spaces.model.schedules.domain_order import LoopKind

_LONGEST = 300
"""Compilers write out no loop that becomes more instructions than these."""


@frozen
class LoopOverhead:
    """Cycles of the innermost loop, and to find the Vars of fused loops. Loops that compilers write
    out are not the innermost one. The loops around the innermost one run too seldom to count.

    Attributes:
        prices: those of an iteration, and of entering a loop.
        registers: those that the vectors of a body take.
    """

    prices: Prices
    registers: Registers

    def of(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """Cycles of a stage's own loops. A loop that several stages share counts for the stage that
        gives it its name.
        """
        own = [loop for loop in stage.own if not loop.kind.has_constant_extent]
        unrolled = [v.positive_trips for v in stage.own if v.kind is LoopKind.UNROLLED]
        work, func = stage.work, features.func(stage.func)
        instructions = work.operations.instructions + sum(a.reads for a in work.accesses) + 1
        registers = sum(self.registers.of(stage.lanes, type.bits) for type in func.types)
        size = volume(tuple(unrolled)) * instructions * registers
        found = fused_loop_cycles(features, stage, self.prices, self.registers)
        return self._innermost(features, stage, own, size) + found

    def _innermost(
        self,
        features: Features,
        stage: StageFeatures,
        loops: Sequence[LoopFeatures],
        size: SymbolicNumber,
    ) -> SymbolicNumber:
        """Cycles of the innermost one of some loops that is not written out; none if another stage
        gives it its name.

        Args:
            features: those of the schedule.
            stage: whose loops they are.
            loops: some of its own, outermost first; the others inside them are written out.
            size: the instructions inside the loops.
        """
        if not loops:
            return stage.visits * self.prices.iteration
        *around, loop = loops
        if loop.key[:2] != (stage.func, stage.index):
            return 0.0
        as_loop = self._loop(stage, loop)
        written_out = is_written_out(features, loop)
        size = size * loop.positive_trips
        is_short = written_out & (size <= _LONGEST) & logical_not(_is_tile(stage, loop))
        if is_nowhere(is_short):
            return as_loop
        outer = minimum(self._innermost(features, stage, around, size), as_loop)
        return where(is_short, outer, as_loop)

    def _loop(self, stage: StageFeatures, loop: LoopFeatures) -> SymbolicNumber:
        """Cycles of a loop of a stage if it is the innermost one."""
        outside = stage.loops[: stage.loops.index(loop)]
        entered = outside[-1].runs if outside else 1.0
        # Compilers unroll loops of a few iterations.
        rolled = minimum(loop.trips / WRITTEN_OUT, 1.0)
        return loop.runs * self.prices.iteration + entered * rolled * self.prices.visit


def _is_tile(stage: StageFeatures, loop: LoopFeatures) -> SymbolicCondition:
    """Whether a loop goes through a part of a dimension, and a loop around it through the parts.
    Compilers write out tiles of a few vectors, but these are not faster than whole rows: they were
    up to 14 % slower.
    """
    around = stage.own[: stage.own.index(loop)]
    over_parts = (one for one in around if not set(loop.dimensions).isdisjoint(one.dimensions))
    return reduce(or_, (one.trips > 1 for one in over_parts), False)
