"""How exact the floats of a program must be."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.backend.ir.host import GpuProgram
from spaces.backend.ir.program import LoopProgram
from spaces.backend.llvm.operators import FloatMode


def mode_of_regions(programs: Iterable[LoopProgram | GpuProgram], wished: FloatMode) -> FloatMode:
    """The float mode of a program: strict if regions of its Funcs are computed from floats, because
    a coordinate that is rounded otherwise than the region may lie outside of it.
    """
    checks = (check for program in programs for check in program.size_checks)
    return FloatMode.STRICT if any(c.condition.has_floats for c in checks) else wished
