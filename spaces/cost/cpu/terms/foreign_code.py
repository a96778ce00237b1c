"""The calls of foreign code."""

from __future__ import annotations

from spaces.cost.cpu.term import FOREIGN, Core, Price, StageWork, term
from spaces.model.formulas.symbolic import SymbolicNumber

_ASSUMED = "assumed: some arithmetic for each element; `define_extern(..., cycles=...)` says better"

ELEMENT = Price("foreign", 4.0, "an element of foreign code whose cost is not stated", _ASSUMED)
CALLING = Price(
    "foreign_call",
    100.0,
    "a call of foreign code, with its descriptions of arrays",
    "assumed: some ten words for each array are stored and loaded",
)


@term(FOREIGN, ELEMENT, CALLING)
def foreign_code(core: Core, of: StageWork) -> SymbolicNumber:
    """Calls, and their elements at the cost that the definition states."""
    code = of.stage.work.code
    stated = None if code is None else code.cycles
    each = core[ELEMENT] if stated is None else stated
    return of.stage.points * each + of.stage.visits * core[CALLING]


TERMS = (foreign_code,)
