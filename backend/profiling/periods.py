"""Which Funcs a profiled run times, and how many of their visits.

Reading the clock takes some 20 ns, twice a visit. A Func whose visits are long is timed at each
visit, and one whose visits are shorter at some of them. The time of the shortest visits belongs to
the Func in whose loops they are. So are short visits whose values go to the reader in registers:
with a clock between them, they would go through memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import frozen

from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.batch import Batch
from spaces.cost.cpu.registers import Registers, is_written_out
from spaces.features.features import Features, reads_of
from spaces.features.records import FuncFeatures
from spaces.model.formulas.symbolic import as_array
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.fused_groups import groups
from spaces.model.schedules.schedule import FuncSchedule

LONG = 4000.0
"""A visit with this many operations, vectors counted once, is always timed: the clock takes about a
fiftieth of its time.
"""

SHORT = 150.0
"""A visit with fewer operations is not timed, nor counted: counting alone would slow it down."""

_MOST = 127
"""At least one visit in this many is timed."""

_NARROW = (LoopKind.VECTORIZED, LoopKind.UNROLLED)
"""Inside these loops no Func is timed."""


@frozen
class Periods:
    """What a profiled run times.

    Attributes:
        timed: the Funcs, each with how many visits have one that is timed.
        within: for each other computed Func the timed Func whose time it is a part of.
    """

    timed: Mapping[str, int]
    within: Mapping[str, str]


def periods(checked: CheckedSchedule) -> Periods:
    """What to time in a run of a legal schedule at the estimates.

    Raises:
        BatchError: an output has no estimate.
    """
    features = Batch.of(checked.pipeline, checked.schedule).features
    registers = Registers(checked.device).bytes if isinstance(checked.device, CpuDevice) else 0
    first = {name: group[0] for group in groups(features.schedule) for name in group}
    timed: dict[str, int] = {}
    within: dict[str, str] = {}
    for func in reversed(features.funcs):
        around = _around(features.schedule.of(func.name))
        every = 1 if not around else _every(features, func, registers)
        if first.get(func.name, func.name) != func.name:  # the first one stands for its group
            around, every = first[func.name], 0
        if every:
            timed[func.name] = every
        else:
            within[func.name] = around
    return Periods(timed, {name: _holder(name, within) for name in within})


def _around(entry: FuncSchedule) -> str:
    """The Func in whose loops a Func is computed; empty at root."""
    return "" if entry.compute.is_root else entry.compute.func


def _holder(name: str, within: Mapping[str, str]) -> str:
    while name in within:
        name = within[name]
    return name


def _every(features: Features, func: FuncFeatures, registers: int) -> int:
    """One visit in that many is timed; 0 if none is.

    Args:
        features: those of its pipeline.
        func: the Func.
        registers: how many bytes the registers hold.
    """
    if any(loop.kind in _NARROW for loop in func.stages[0].loops[: func.depth]):
        return 0
    steps = math.fsum(
        float(as_array((s.points * s.work.operations.total + reads_of(s)) / s.lanes))
        for s in func.stages
    )
    visit = steps / max(float(as_array(func.visits)), 1.0)
    if visit < SHORT:
        return 0
    every = min(max(math.ceil(LONG / visit), 1), _MOST)
    is_small = float(as_array(func.allocation_bytes)) <= registers
    return 0 if every > 1 and is_small and _is_written_out(features, func) else every


def _is_written_out(features: Features, func: FuncFeatures) -> bool:
    """Whether the code of a visit has no loops, so that registers may hold its values."""
    return all(
        bool(as_array(is_written_out(features, loop)).all())
        for stage in func.stages
        for loop in stage.own
    )
