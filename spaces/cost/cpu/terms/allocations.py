"""The allocations of Funcs on the heap."""

from __future__ import annotations

from spaces.cost.cpu.term import ALLOCATION, Core, Price, term
from spaces.features.records import FuncFeatures
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, where
from spaces.model.schedules.schedule import AUTO_STACK_BYTES

ALLOCATING = Price("allocation", 15.0, "an allocation")
BYTE = Price("byte", 0.02, "one byte of an allocation")


@term(ALLOCATION, ALLOCATING, BYTE)
def allocations(core: Core, func: FuncFeatures) -> SymbolicNumber:
    """Memory of the heap, which programs take once for all iterations of the serial loops directly
    around it. Allocators give out the same memory again, so what fits the second-level cache is in
    it already.
    """
    size = func.allocation_bytes
    new = maximum(size - core.device.l2_bytes, 0)
    return where(size <= AUTO_STACK_BYTES, 0.0, core[ALLOCATING] + core[BYTE] * new)


TERMS = (allocations,)
