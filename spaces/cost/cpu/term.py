"""A term of the cost of a schedule on a CPU: a function, and the prices that it owns.

The cost is a sum. A term stands in a file of ``spaces/cost/cpu/terms``; its kind says what its
number counts. Prices, fits, parts of a price and the page of the terms follow from the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from attrs import frozen

from spaces.constraints.devices.device import CpuDevice
from spaces.cost.cpu.registers import Registers
from spaces.features.features import Features
from spaces.features.footprints import Footprint
from spaces.features.records import FuncFeatures, LoopFeatures, StageFeatures, volume
from spaces.model.formulas.symbolic import SymbolicNumber
from spaces.model.schedules.domain_order import LoopKind

Costed = TypeVar("Costed")
"""What a term reads: a stage, a Func, a parallel loop or a footprint."""

FITTED = "near a fit to the times of some hundred schedules on a server core of 2024"
"""Where most prices come from."""

MEASURED = "measured by `python -m bench instructions`: [times and prices](instructions.md)"
"""Where prices of single instructions come from."""


@frozen(eq=False)
class Price:
    """What one operation costs. Only the proportions of prices matter.

    Attributes:
        name: the keyword of :class:`~spaces.cost.cpu.prices.Prices`.
        cycles: the default, in cycles of one core without other delays. At 0, the term is off.
        per: what costs this many cycles.
        source: where the default comes from.
    """

    name: str
    cycles: float
    per: str
    source: str = FITTED


@frozen(eq=False)
class TermKind(Generic[Costed]):
    """A place of terms in the sum.

    Attributes:
        part: the part of a price that shows these terms.
        counts: what the cycles of a term are for.
    """

    part: str
    counts: str


@frozen
class StageWork:
    """A stage, and what several of its terms read.

    Attributes:
        vectors: the number of evaluations, all lanes together.
        registers: those that the values of all lanes take.
        passes: how often a unit computes for the values of all lanes.
        written: the share of evaluations that store their value.
        spilled: the share that do so because there are too few registers.
    """

    features: Features
    func: FuncFeatures
    stage: StageFeatures
    vectors: SymbolicNumber
    registers: SymbolicNumber
    passes: SymbolicNumber
    written: SymbolicNumber
    spilled: SymbolicNumber


@frozen
class ParallelLoop:
    """A parallel loop: how often it starts, and the number of all its iterations."""

    starts: SymbolicNumber
    runs: SymbolicNumber


ACCESS: TermKind[StageWork] = TermKind("compute", "of the load and store units, for one vector")
OPERATION: TermKind[StageWork] = TermKind("compute", "of the arithmetic units, for a stage")
DEPENDENCE: TermKind[StageWork] = TermKind("compute", "that a stage waits for its own results")
SPILL: TermKind[StageWork] = TermKind("compute", "of a stage for what registers cannot hold")
LOOP: TermKind[StageWork] = TermKind("compute", "of the loops of a stage without their bodies")
DELAY: TermKind[StageWork] = TermKind("compute", "that a stage waits for memory")
FOREIGN: TermKind[StageWork] = TermKind("compute", "of a stage that foreign code computes")
FROM_L2: TermKind[Footprint] = TermKind("from_l2", "to move a footprint once")
FROM_L3: TermKind[Footprint] = TermKind("from_l3", "to move a footprint once")
FROM_MEMORY: TermKind[Footprint] = TermKind("from_memory", "to move a footprint once")
ALLOCATION: TermKind[FuncFeatures] = TermKind("allocation", "for one allocation of a Func")
OVERHEAD: TermKind[ParallelLoop] = TermKind("overhead", "for a parallel loop")

KINDS: tuple[TermKind[Any], ...] = (
    *(ACCESS, OPERATION, DEPENDENCE, SPILL, LOOP, DELAY, FOREIGN),
    *(FROM_L2, FROM_L3, FROM_MEMORY, ALLOCATION, OVERHEAD),
)
"""The kinds of terms. Accesses, operations and dependences of a stage run side by side, so the
longest of the three counts. All others add up. A stage that foreign code computes has the last of
these alone, beside what it moves.
"""

PARTS = tuple(dict.fromkeys(kind.part for kind in KINDS))
"""The parts of a price: evaluations, loops and waits; lines from the second-level cache, the third
and from memory; allocations; parallel loops. All in cycles.
"""


@frozen(eq=False)
class CostTerm(Generic[Costed]):
    """A term of the cost.

    Attributes:
        function: its cycles. They must not fall if a stage has more reads and operations, or stands
            beside more Funcs: lower bounds (``Reuse.least``) rest on that.
        owns: the prices that belong to this term. Other terms may read them.
    """

    function: Callable[[Core, Costed], SymbolicNumber]
    kind: TermKind[Costed]
    owns: tuple[Price, ...]

    @property
    def name(self) -> str:
        """The name of the function in words."""
        return self.function.__name__.replace("_", " ")


def term(
    kind: TermKind[Costed], *owns: Price
) -> Callable[[Callable[[Core, Costed], SymbolicNumber]], CostTerm[Costed]]:
    """Makes a function a term of a kind, with the prices that it owns."""
    return lambda function: CostTerm(function, kind, owns)


def no_cycles(core: Core, costed: object) -> SymbolicNumber:
    """Stands for a kind that has no term."""
    return 0.0


@frozen(eq=False)
class Core:
    """One core of a CPU: what operations cost there, and the terms that count.

    Attributes:
        registers: its registers.
        prices: the cycles of each price: numbers, or arrays of one shape.
        functions: those of the terms of each kind; at least :func:`no_cycles`.
    """

    device: CpuDevice
    registers: Registers
    prices: Mapping[Price, SymbolicNumber]
    functions: Mapping[TermKind[Any], tuple[Callable[[Core, Any], SymbolicNumber], ...]]

    def __getitem__(self, price: Price) -> SymbolicNumber:
        return self.prices[price]

    def view_stage(self, features: Features, stage: StageFeatures) -> StageWork:
        """A stage as its terms read it."""
        func = features.func(stage.func)
        lanes, widths = stage.lanes, [type.bits for type in func.types]
        registers = sum(self.registers.of(lanes, bits) for bits in widths)
        passes = sum(self.registers.passes(lanes, bits) for bits in widths)
        shares = self.registers.stored_shares(features, func, stage)
        vectors = stage.executed / lanes
        return StageWork(features, func, stage, vectors, registers, passes, *shares)

    def sum_terms(self, kind: TermKind[Costed], costed: Costed) -> SymbolicNumber:
        """The cycles of all terms of a kind."""
        functions = self.functions[kind]
        cycles = functions[0](self, costed)
        for function in functions[1:]:
            cycles = cycles + function(self, costed)
        return cycles

    def cores_busy(self, loops: Iterable[LoopFeatures]) -> SymbolicNumber:
        """The number of cores that share the iterations of the parallel ones of some loops."""
        trips = tuple(loop.positive_trips for loop in loops if loop.kind is LoopKind.PARALLEL)
        tasks = volume(trips)
        rounds = -(-tasks // self.device.cores)
        return tasks / rounds
