"""The threads of parallel loops."""

from __future__ import annotations

from spaces.cost.cpu.term import OVERHEAD, Core, ParallelLoop, Price, term
from spaces.model.formulas.symbolic import SymbolicNumber

LAUNCH = Price("launch", 10_000.0, "starting a parallel loop and waiting for its end")
TASK = Price("task", 50.0, "handing one iteration of a parallel loop to a thread")


@term(OVERHEAD, LAUNCH)
def launches(core: Core, loop: ParallelLoop) -> SymbolicNumber:
    """Starts and ends of parallel loops."""
    return loop.starts * core[LAUNCH]


@term(OVERHEAD, TASK)
def tasks(core: Core, loop: ParallelLoop) -> SymbolicNumber:
    """Iterations of parallel loops that threads take, on all cores at once."""
    return loop.runs * core[TASK] / core.device.cores


TERMS = (launches, tasks)
