"""The cost to find the Vars that ``fuse`` joined.

The body of a loop that ``fuse`` made divides the fused Var by the extent of the inner loop: the
remainder is the inner Var, and the quotient the outer one. A nest of the two loops counts them up.
"""

from __future__ import annotations

from spaces.cost.cpu.term import LOOP, Core, StageWork, term
from spaces.cost.cpu.terms.operations import DIVISION, INSTRUCTION
from spaces.features.records import volume
from spaces.features.work import DIVISION_BY_LITERAL
from spaces.model.formulas.symbolic import SymbolicNumber
from spaces.model.schedules.domain_order import LoopKind

_REMAINDER = 2
"""The instructions from a quotient to the remainder: a multiplication and a subtraction."""

_COORDINATE = 32
"""Bits of a coordinate."""


@term(LOOP)
def fused_loops(core: Core, of: StageWork) -> SymbolicNumber:
    """Divisions by which loops find the Vars that ``fuse`` joined. Each iteration of the innermost
    loop that is made of the fused one has such a division.

    If compilers know the divisor, a few instructions replace the division, also for vectors. Else
    each lane has a division of its own, which gives quotient and remainder at once.
    """
    cycles: SymbolicNumber = 0.0
    stage = of.stage
    for fused in of.features.fused_loops.get((stage.func, stage.index), ()):
        moving = [loop for loop in stage.own if loop.loop in fused.names]
        if not moving:
            continue
        each = core[DIVISION]
        if fused.has_constant_divisor:
            vectors = (v.positive_trips for v in moving if v.kind is LoopKind.VECTORIZED)
            lanes = volume(tuple(vectors))
            of_a_lane = core.registers.passes(lanes, _COORDINATE) / lanes
            each = (DIVISION_BY_LITERAL + _REMAINDER) * core[INSTRUCTION] * of_a_lane
        cycles = cycles + moving[-1].runs * each
    return cycles


TERMS = (fused_loops,)
