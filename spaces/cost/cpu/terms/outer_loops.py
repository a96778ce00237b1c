"""The loops of a stage around its innermost one."""

from __future__ import annotations

from spaces.cost.cpu.term import LOOP, Core, Price, StageWork, term
from spaces.features.records import total
from spaces.model.formulas.symbolic import SymbolicNumber, where

OUTER_ITERATION = Price(
    "outer_iteration",
    0.0,
    "an iteration of a loop around an innermost one",
    "off: measured times of apps fit best with 1, those of random pipelines with 9.5, and neither "
    "are ranked clearly better",
)


@term(LOOP, OUTER_ITERATION)
def outer_loops(core: Core, of: StageWork) -> SymbolicNumber:
    """Iterations of the loops around the innermost one, without those that run once each time. A
    loop that several stages share counts for the stage that gives it its name.
    """
    stage = of.stage
    loops = [loop for loop in stage.own if not loop.kind.has_constant_extent]
    named = [loop for loop in loops[:-1] if loop.key[:2] == (stage.func, stage.index)]
    return core[OUTER_ITERATION] * total(where(loop.trips > 1, loop.runs, 0) for loop in named)


TERMS = (outer_loops,)
