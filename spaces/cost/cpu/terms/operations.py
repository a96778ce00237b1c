"""The arithmetic of a stage."""

from __future__ import annotations

from spaces.cost.cpu.term import MEASURED, OPERATION, Core, Price, StageWork, term
from spaces.features.features import copies_that_share
from spaces.features.records import StageFeatures, volume
from spaces.features.work import Operations
from spaces.model.formulas.symbolic import SymbolicNumber
from spaces.model.schedules.domain_order import LoopKind

INSTRUCTION = Price("instruction", 0.45, "an instruction on a register")
SERIES = Price(
    "series", 10.0, "a series for float32, such as exp, of as many doubles as a unit has", MEASURED
)
CALL = Price("call", 25.0, "a function of the C library for one value", MEASURED)
FRACTION = Price("fraction", 5.0, "quotients or square roots of a vector of floats", MEASURED)
DIVISION = Price(
    "division",
    6.0,
    "an integer division by a number that compilers don't know",
    "one of 32 bits takes 9 to 15 cycles, and the next one begins after 6 (uops.info, DIV (R32): "
    "Rocket Lake, Alder Lake-P, Zen 4)",
)

_DOUBLE = 64
"""The bits of the numbers in which series are summed."""


@term(OPERATION, INSTRUCTION, FRACTION, SERIES, CALL, DIVISION)
def operations(core: Core, of: StageWork) -> SymbolicNumber:
    """Operations on values."""
    return sum(_cycles(core, of.stage, *part) for part in of.stage.work.parts)


def _cycles(
    core: Core, stage: StageFeatures, moved_by: frozenset[str], part: Operations
) -> SymbolicNumber:
    """Cycles of operations whose results depend on some Vars only (``moved_by``). Compilers move
    them out of all loops inside the innermost loop over one of these Vars.
    """
    walking = [i for i, loop in enumerate(stage.own) if moved_by & set(loop.dimensions)]
    repeated = stage.own[: walking[-1] + 1] if walking else ()
    lanes = volume(tuple(v.positive_trips for v in repeated if v.kind is LoopKind.VECTORIZED))
    if len(repeated) == len(stage.own):
        times = stage.points
    else:
        times = repeated[-1].runs if repeated else stage.visits
    times = times / copies_that_share(repeated, moved_by)
    of_lane = part.calls * core[CALL] + part.divisions * core[DIVISION]
    vectors = part.instructions * core[INSTRUCTION] + part.fractions * core[FRACTION]
    cycles = vectors * core.registers.passes(lanes, part.bits / part.total)
    if part.series:
        cycles = cycles + part.series * core[SERIES] * core.registers.passes(lanes, _DOUBLE)
    return times * (of_lane + cycles / lanes)


TERMS = (operations,)
