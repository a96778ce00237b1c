"""The pointers to lines that a stage has more of than general registers."""

from __future__ import annotations

from spaces.cost.cpu.term import ACCESS, Core, StageWork, term
from spaces.cost.cpu.terms.accesses import LOAD
from spaces.features.records import FuncFeatures, volume
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, where
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import AUTO_STACK_BYTES

_POINTERS = 12
"""The general registers of a core of 16 that can hold pointers to lines: a loop needs some for its
count, its bounds and the stack.
"""


@term(ACCESS)
def missing_pointers(core: Core, of: StageWork) -> SymbolicNumber:
    """Pointers that a copy of an unrolled body loads again in each iteration, on average, because
    there are more of them than general registers.

    Each line of a buffer that the copies read or write needs a pointer, since compilers don't know
    how far apart lines are. Of buffers on the stack they know it.
    """
    features, stage = of.features, of.stage
    unrolled = [loop for loop in stage.own if loop.kind is LoopKind.UNROLLED]
    if not unrolled and len(stage.work.accesses) < _POINTERS:
        return 0.0
    across = set(stage.work.written) - set(features.along_rows(of.func))
    lines = [loop.positive_trips for loop in unrolled if across & set(loop.dimensions)]
    needed = _lines(of.func, lines) * of.written
    for access in stage.work.accesses:
        if access.buffer != stage.func:
            row = features.order(access.buffer)[0]
            others = [index for i, index in enumerate(access.indices) if i != row]
            lines = [
                loop.positive_trips
                for loop in unrolled
                if any(index.step(name) for index in others for name in loop.dimensions)
            ]
            needed = needed + _lines(features.computed(access.buffer), lines)
    copies = volume(tuple(loop.positive_trips for loop in unrolled))
    return core[LOAD] * (maximum(needed - _POINTERS, 0) / copies)


def _lines(func: FuncFeatures | None, lines: list[SymbolicNumber]) -> SymbolicNumber:
    """The number of pointers to the lines of unrolled loops in a Func, or an image (None)."""
    many = volume(tuple(lines))
    if func is None or func.store_depth == 0:
        return many
    return where(func.allocation_bytes <= AUTO_STACK_BYTES, 1, many)


TERMS = (missing_pointers,)
