"""The sums that wait for their last term."""

from __future__ import annotations

from math import inf

from spaces.cost.cpu.registers import is_written_out
from spaces.cost.cpu.term import DEPENDENCE, Core, Price, StageWork, term
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber, maximum, where
from spaces.model.schedules.domain_order import LoopKind

LATENCY = Price(
    "latency", 5.0, "from one term of a sum of floats to the next: a fused multiply and add"
)
FORWARDING = Price(
    "forwarding", 5.0, "more between two terms if the sum is stored and loaded again"
)

_WINDOW = 256
"""The instructions among which a core finds those that can begin."""


@term(DEPENDENCE, LATENCY, FORWARDING)
def latency_of_sums(core: Core, of: StageWork) -> SymbolicNumber:
    """Terms of sums of floats that wait for the term before them."""
    latency = core[LATENCY] + core[FORWARDING] * of.written
    return of.vectors * of.registers * latency / _sums_at_once(core, of)


def _sums_at_once(core: Core, of: StageWork) -> SymbolicNumber:
    """How many registers with sums can take their next terms at the same time. Infinitely many if
    the stage adds up no floats in its innermost loop.

    Each term of a sum waits for the term before it. Unrolled and vectorized loops in the innermost
    loop over terms make several sums. After a short sum, a core begins the next ones while the last
    terms still wait.
    """
    stage, func, work = of.stage, of.func, of.stage.work
    adds_up = any(a.buffer == stage.func and a.in_place for a in work.accesses)
    if not adds_up or not all(type.is_float for type in func.types):
        return inf
    sums = core.registers.of_results(func, stage)
    terms: SymbolicNumber = 1
    is_innermost: SymbolicCondition = True
    is_open: SymbolicCondition = True
    for loop in reversed(stage.own):
        if loop.kind is LoopKind.VECTORIZED:
            continue
        if work.written.isdisjoint(loop.dimensions):
            terms = terms * where(is_open, loop.trips, 1)
            is_innermost = is_innermost & (loop.kind.has_constant_extent | (loop.trips == 1))
        else:
            written_out = is_written_out(of.features, loop)
            sums = sums * where(is_innermost & written_out, loop.trips, 1)
            is_open = is_open & (written_out | (loop.trips <= 1))
    operations = sum(each.instructions for _, each in work.parts)
    loads = sum(a.reads * (of.written if a.buffer == stage.func else 1) for a in work.accesses)
    each = operations + loads + of.written
    others = maximum(1, _WINDOW / maximum(terms * sums * each, 1))
    return where(terms > 1, maximum(sums, 1) * others, inf)


TERMS = (latency_of_sums,)
