"""The updates that threads make to the same elements, each in one step."""

from __future__ import annotations

from spaces.cost.cpu.term import DELAY, Core, Price, StageWork, term
from spaces.features.contention import contended_loops, shared_elements
from spaces.model.formulas.symbolic import SymbolicNumber, maximum
from spaces.model.schedules.domain_order import LoopKind

ATOMIC = Price(
    "atomic",
    10.0,
    "an update in one step: five times a load and a store",
    "measured for random elements of an array in the first-level cache",
)
CONTENDED = Price(
    "contended",
    85.0,
    "taking a line from another thread that updates it: 45 loads and stores",
    "measured for two threads and 4 to 16 lines",
)

_IN_FLIGHT = 32
"""The atomic updates that a core has in flight. Threads disturb each other less where there are
more lines than that. Two threads that update random elements of 4, 16, 64, 256 and 4096 lines take
8, 8, 4, 2.1 and 1.4 times as long for an update as one thread (Zen 4).
"""


@term(DELAY, ATOMIC, CONTENDED)
def atomic_updates(core: Core, of: StageWork) -> SymbolicNumber:
    """What atomic updates cost more than others. The expected number of other threads that update
    the same line grows with the threads and falls with the lines.
    """
    loops = contended_loops(of.features, of.stage, (LoopKind.PARALLEL,))
    if not loops:
        return 0.0
    size = shared_elements(of.features, of.stage, loops) * of.func.bytes
    lines = maximum(size / core.device.cache_line_bytes, 1)
    others = (core.cores_busy(loops) - 1) * _IN_FLIGHT / (_IN_FLIGHT + lines)
    each = core[ATOMIC] + core[CONTENDED] * others
    return of.stage.points * len(of.func.types) * each


TERMS = (atomic_updates,)
