"""The values that move to memory and back, because there are too few vector registers. The core
waits for them, so nothing hides their cycles.
"""

from __future__ import annotations

from spaces.cost.cpu.term import SPILL, Core, StageWork, term
from spaces.cost.cpu.terms.accesses import LOAD, STORE
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, minimum


@term(SPILL)
def spilled_sums(core: Core, of: StageWork) -> SymbolicNumber:
    """Sums that are stored and loaded again between two terms."""
    return of.vectors * (_both_ways(core, of) * of.spilled)


@term(SPILL)
def crowded_vectors(core: Core, of: StageWork) -> SymbolicNumber:
    """Values of vectors that are too wide; they move with each operation. An operation needs the
    registers of an operand and of its result at once.
    """
    share = 1 - minimum(1, core.registers.count / maximum(2 * of.registers, 1))
    crowded = share * (of.stage.work.operations.total + 1)
    return of.vectors * (_both_ways(core, of) * crowded)


def _both_ways(core: Core, of: StageWork) -> SymbolicNumber:
    """Cycles to store all lanes of a value and load them again."""
    return (core[LOAD] + core[STORE]) * of.passes


TERMS = (spilled_sums, crowded_vectors)
