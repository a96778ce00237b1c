"""Costs on a CPU: computing, recomputing and moving data between caches.

Follows section 3 of [S19]: what a placement and its tile sizes make a stage compute
(equations 2 to 4), keep (1, 8, 9, 12) and load (5 to 7, 10, 11, 13), where a prefetcher hides the
elements of a row but not the start of it (6). To rank schedules that differ in more than fusion,
loads are weighed by the cache they come from, work by the vector unit that does it, and both by
the cores that share it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.constraints.devices.occupancy import SymbolicNumber
from spaces.cost.accesses import Course, Operations, ReadGroup
from spaces.cost.batch import Batch
from spaces.cost.features import Features, StageFeatures, read_extents, volume
from spaces.cost.traffic import Footprint, Traffic
from spaces.model.expressions.expr import Const, Expr
from spaces.model.schedules.domain_order import LoopKind

_WRITTEN_OUT = 8
"""Iterations up to which a loop costs less to enter."""


@frozen
class Prices:
    """Cycles of one core that things take, where nothing else holds them up.

    The defaults are fitted to times of some hundred schedules on a server core of 2024, with
    caches that hold a picture; only their proportions matter.
    """

    instruction: float = 0.45
    load: float = 0.9
    store: float = 1.0
    lane: float = 0.65
    """One lane of a gather or a scatter, or of anything that is done lane by lane."""
    transcendental: float = 15.0
    division: float = 10.0
    iteration: float = 0.5
    visit: float = 30.0
    """Entering an innermost loop."""
    allocation: float = 15.0
    byte: float = 0.02
    """One byte of an allocation."""
    task: float = 300.0
    """Handing one iteration of a parallel loop to a thread."""
    launch: float = 10_000.0
    """Starting a parallel loop and waiting for its end."""
    line_from_l2: float = 0.15
    line_from_l3: float = 1.0
    line_from_memory: float = 2.0
    row: float = 60.0
    """What the prefetcher needs to find a new row beyond the second-level cache."""


def input_loads(
    features: Features, stage: StageFeatures, buffer: str, prefetched: bool = True
) -> SymbolicNumber:
    """Loads of ``buffer`` that ``stage`` causes outside the cache: C of [S19] (5), (6), (13).

    Each time the storage of the stage's Func is allocated anew, all it reads is loaded once. With
    a streaming prefetcher the elements of a row cost nothing beyond its first, provided that the
    loop that runs fastest walks along the row.
    """
    func = features.func(stage.func)
    extents = dict(zip(func.args, func.stored, strict=True))
    loads: SymbolicNumber = 0
    for access in stage.work.accesses:
        if access.buffer == buffer:
            read = read_extents(access, extents)
            hidden = prefetched and walks_along_rows(features, stage, access)
            loads = loads + volume(read[1:] if hidden else read)
    return loads * func.allocations


def walks_along_rows(features: Features, stage: StageFeatures, access: ReadGroup) -> bool:
    """Whether the loop that runs fastest moves along the innermost dimension of the buffer.

    Loops that run once in a typical visit, as those of a window that slides by one value, move
    nothing; the loop around them runs fastest then.
    """
    for loop in reversed(stage.loops):
        if not _runs_once(loop.trips):
            moved = features.moved_vars(stage, loop)
            return any(access.indices[0].step(var) for var in moved)
    return True


def _runs_once(trips: SymbolicNumber) -> bool:
    if isinstance(trips, Expr):
        return isinstance(trips, Const) and trips.value == 1
    return bool(np.all(np.asarray(trips) == 1))


@frozen
class Reuse:
    """Estimated cycles of the slowest core.

    Attributes:
        device: the CPU.
        prices: what things cost on it.
    """

    device: CpuDevice
    prices: Prices = Prices()

    @staticmethod
    def of(device: Device) -> Reuse:
        """The model for one CPU.

        Raises:
            ValueError: ``device`` is a GPU.
        """
        if not isinstance(device, CpuDevice):
            raise ValueError(
                f"The cost model 'reuse' is for CPUs, and {device.name} is a GPU; use 'occupancy'."
            )
        return Reuse(device)

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        features = batch.features
        cycles = self._memory(features)
        for func in features.funcs:
            for stage in func.stages:
                cycles = cycles + self._compute(features, stage) / self._speedup(stage)
            allocation = self.prices.allocation + self.prices.byte * func.allocation_bytes
            cycles = cycles + func.allocations * allocation * (not func.is_output)
        return batch.full(cycles + self._parallel_overhead(features))

    def _compute(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """Cycles of all evaluations and of the loops around them: those of the arithmetic units
        or those of the ones that load and store, whichever work longer.
        """
        func = features.func(stage.func)
        moved: SymbolicNumber = 0.0
        for access in stage.work.accesses:
            bits = 8 * features.element_bytes(access.buffer)
            moved = moved + access.reads * self._load(stage, access, bits)
        along = stage.vector_dimensions
        if along and along != func.args[:1]:
            moved = moved + stage.lanes * self.prices.lane
        else:
            registers = (self._registers(stage.lanes, type.bits) for type in func.types)
            moved = moved + self.prices.store * sum(registers)
        computed = sum(self._operations(stage, *part) for part in stage.work.parts)
        return np.maximum(stage.points / stage.lanes * moved, computed) + self._loops(stage)

    def _operations(
        self, stage: StageFeatures, moved_by: frozenset[str], operations: Operations
    ) -> SymbolicNumber:
        """Cycles of operations whose results change with some Vars only: compilers keep them out of
        the loops inside the innermost one that walks along one of those.
        """
        prices = self.prices
        walking = [i for i, loop in enumerate(stage.own) if moved_by & set(loop.dimensions)]
        repeated = stage.own[: walking[-1] + 1] if walking else ()
        lanes = volume(tuple(v.trips for v in repeated if v.kind is LoopKind.VECTORIZED))
        if len(repeated) == len(stage.own):
            times = stage.points
        else:
            times = repeated[-1].runs if repeated else stage.visits
        registers = self._registers(lanes, operations.bits / operations.total)
        calls = operations.transcendental * prices.transcendental
        divisions = operations.divisions * prices.division
        plain = operations.instructions * prices.instruction * registers / lanes
        return times * (plain + calls + divisions)

    def _registers(self, lanes: SymbolicNumber, bits: float) -> SymbolicNumber:
        """Vector registers that ``lanes`` values take, at least one."""
        return np.maximum(1.0, np.ceil(lanes * (bits / self.device.vector_bits)))

    def _load(self, stage: StageFeatures, access: ReadGroup, bits: int) -> SymbolicNumber:
        """Cycles to load one vector of values, found in the first-level cache."""
        along = stage.vector_dimensions
        moving = [i for i in access.indices if not i.is_known or any(i.step(d) for d in along)]
        if not along or not moving:
            return self.prices.load
        first = access.indices[0]
        is_dense = moving == [first] and abs(first.step(along[0])) == 1
        # Only the loop iterations at its edges feel a clamp.
        if is_dense and first.course <= Course.CLAMPED and len(along) == 1:
            return self.prices.load * self._registers(stage.lanes, bits)
        return self.prices.lane * stage.lanes

    def _loops(self, stage: StageFeatures) -> SymbolicNumber:
        """Cycles that the own loops of a stage take beside their bodies; a loop that is fused takes
        them once, of the stage that it is named after.
        """
        counted = [loop for loop in stage.own if not loop.kind.has_constant_extent]
        if not counted:
            return stage.loops[stage.depth - 1].runs * 1.0 if stage.depth else 1.0
        innermost = counted[-1]
        if innermost.key[:2] != (stage.func, stage.index):
            return 0.0
        outside = stage.loops[: stage.loops.index(innermost)]
        entered = outside[-1].runs if outside else 1.0
        # Loops of a few iterations are written out by compilers.
        rolled = np.minimum(innermost.trips / _WRITTEN_OUT, 1.0)
        return innermost.runs * self.prices.iteration + entered * rolled * self.prices.visit

    def _memory(self, features: Features) -> SymbolicNumber:
        """Cycles that lines take on their way to the first-level cache, and out again."""
        device, prices = self.device, self.prices
        traffic = Traffic(features, device.cache_line_bytes)
        cycles: SymbolicNumber = 0.0
        for capacity, line, row in (
            (device.l1_bytes, prices.line_from_l2, 0.0),
            (device.l2_bytes, prices.line_from_l3, prices.row),
            (device.l3_bytes // device.cores, prices.line_from_memory, prices.row),
        ):

            def price(body: Footprint, line: float = line, row: float = row) -> SymbolicNumber:
                return body.lines * line + body.rows * row

            cycles = cycles + self._moves(traffic, capacity, price)
        return cycles

    def _moves(
        self, traffic: Traffic, capacity: int, price: Callable[[Footprint], SymbolicNumber]
    ) -> SymbolicNumber:
        """Cycles to move all that is missing in a cache of that many bytes.

        Stages in one loop body that read the same move it once.
        """
        features = traffic.features
        moved: dict[tuple[object, ...], SymbolicNumber] = {}
        for stage in features.stages:
            if not stage.loops:
                continue
            fitting = traffic.fitting_depth(stage, capacity)
            speedup = self._speedup(stage)
            for buffer in (*stage.work.buffers, stage.func):
                is_written = buffer == stage.func
                resident = _resident(features, buffer, is_written)
                for loop, cost in traffic.moves(stage, buffer, fitting, resident, price):
                    # A line that is written is fetched first and evicted later.
                    cost = (2 * cost if is_written else cost) / speedup
                    key = (buffer, is_written, *loop)
                    moved[key] = np.maximum(moved[key], cost) if key in moved else cost
        return sum(moved.values())

    def _speedup(self, stage: StageFeatures) -> SymbolicNumber:
        """How many cores share the iterations of the parallel loops around a stage."""
        tasks = volume(tuple(loop.trips for loop in stage.loops if loop.kind is LoopKind.PARALLEL))
        rounds = -(-tasks // self.device.cores)
        return tasks / rounds

    def _parallel_overhead(self, features: Features) -> SymbolicNumber:
        """Cycles that starting threads takes, once for each parallel loop; one that is fused is as
        long as it is for the stage that needs most of it.
        """
        prices = self.prices
        loops: dict[tuple[str, int, str], tuple[SymbolicNumber, SymbolicNumber]] = {}
        for loop in (loop for stage in features.stages for loop in stage.loops):
            if loop.kind is LoopKind.PARALLEL:
                starts, runs = loop.runs / loop.trips, loop.runs
                if loop.key in loops:
                    starts, runs = map(np.maximum, loops[loop.key], (starts, runs))
                loops[loop.key] = (starts, runs)
        cycles: SymbolicNumber = 0.0
        for starts, runs in loops.values():
            cycles = cycles + starts * prices.launch + runs * prices.task / self.device.cores
        return cycles


def _resident(features: Features, buffer: str, is_written: bool) -> int:
    """The depth of loops at which all of a buffer is in a cache that the body fits into; -1 for
    images and outputs, which come from outside and leave.

    What is read back was computed inside the loops around the computation. What is written goes to
    places that are in the cache if all of the storage is.
    """
    if features.is_image[buffer] or features.func(buffer).is_output:
        return -1
    func = features.func(buffer)
    return func.store_depth if is_written else func.depth
