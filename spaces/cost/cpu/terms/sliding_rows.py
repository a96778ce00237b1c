"""The values of windows that slide along the rows of their Func."""

from __future__ import annotations

from spaces.cost.cpu.term import DELAY, Core, Price, StageWork, term
from spaces.model.formulas.symbolic import SymbolicNumber, where

SLIDE = Price(
    "slide",
    1.0,
    "a value of a window that slides along its rows",
)


@term(DELAY, SLIDE)
def sliding_rows(core: Core, of: StageWork) -> SymbolicNumber:
    """Values of a window that slides along the rows of its Func. Each visit computes the rest of a
    row that the one before left: it begins anywhere in a line, in as many vectors as are left,
    which compilers don't know. Where the storage is folded, each coordinate is a remainder.
    """
    func = of.func
    if not func.args:
        return 0.0
    row = of.features.order(func.name)[0]
    slides = func.computed[row] < func.required[row]
    return of.stage.executed * where(slides, core[SLIDE], 0.0)


TERMS = (sliding_rows,)
