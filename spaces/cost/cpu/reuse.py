"""Costs on a CPU: computation, recomputation and data movement between caches.

Follows section 3 of [S19]: a placement and its tile sizes decide the values that a stage computes
(equations 2 to 4), keeps (1, 8, 9, 12) and loads (5 to 7, 10, 11, 13). A prefetcher hides the
elements of a row but not its start (6). To rank schedules that differ in more than fusion, the
model weights loads by their cache, work by its vector unit, and both by the cores that share
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs
import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.cost.batch import Batch
from spaces.cost.cpu.loop_overhead import LoopOverhead
from spaces.cost.cpu.price_fit import fit_prices
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.registers import Registers
from spaces.cost.cpu.stalls import stalls
from spaces.cost.cpu.transfers import Transfer, TransferPlace, list_transfers
from spaces.cost.features.accesses import Course, Operations, ReadGroup
from spaces.cost.features.contention import contended_loops, shared_elements
from spaces.cost.features.features import Features, copies_that_share
from spaces.cost.features.footprints import Footprint
from spaces.cost.features.records import FuncFeatures, LoopFeatures, LoopKey, StageFeatures, volume
from spaces.cost.features.traffic import Cache, Traffic, buffers_of
from spaces.cost.features.unfuse import unfuse
from spaces.cost.training import PricedRun
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber, maximum, where
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import AUTO_STACK_BYTES

_LEAST_LANE = 2 / 3
"""From this share of the price of a load on, lanes that are apart cost at least as much as the
registers that hold them: two for three lanes of 64 bits, if a register has 128.
"""

_IN_FLIGHT = 32
"""The atomic updates that a core has in flight. Threads disturb each other less where there are
more lines than that: two threads that update random elements of 4, 16, 64, 256 and 4096 lines take
8, 8, 4, 2.1 and 1.4 times as long for each update as one thread (Zen 4).
"""

_LARGEST_DIVISOR = 4
"""With a larger divisor, so few lanes of ``x / divisor`` differ that compilers load them one by
one.
"""


@frozen
class Reuse:
    """Estimated cycles of the slowest core.

    Attributes:
        device: the CPU.
        prices: the costs of operations on this CPU.
    """

    device: CpuDevice
    prices: Prices = field(factory=Prices)

    @property
    def adds_nests(self) -> bool:
        """Always true: nests share only the last-level cache."""
        return True

    @property
    def registers(self) -> Registers:
        """The registers of a core."""
        return Registers(self.device)

    @property
    def loop_overhead(self) -> LoopOverhead:
        """What loops cost without their bodies."""
        return LoopOverhead(self.prices, self.registers)

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
        return batch.full(self.price(batch.features))

    def price(self, features: Features) -> SymbolicNumber:
        cycles = self._memory(features)
        for func in features.funcs:
            cycles = self._with_work(cycles, features, func)
        return cycles + self._parallel_overhead(features)

    def retrain(self, runs: Sequence[PricedRun]) -> Reuse:
        """The model with the prices that fit the times of some runs (:func:`fit_prices`). It
        begins with the present prices, and prices that the times say little about stay near them.
        """

        def price(prices: Prices, features: Features) -> SymbolicNumber:
            return attrs.evolve(self, prices=prices).price(features)

        return attrs.evolve(self, prices=fit_prices(runs, self.prices, price))

    def least(self, features: Features) -> SymbolicNumber:
        """Cycles of stages, allocations and parallel loops, and of transfers that each completion
        has.

        Stages and allocations add up over Funcs, and depend on the Func's own loops, reads and
        operations. A parallel loop that several stages share costs as much as for the stage with
        the most iterations, so at least as much as for the stage that gives the loop its name. A
        Func moves its own lines (:meth:`Traffic.least`), and the lines of images that no other Func
        reads: two Funcs that read the same lines in a loop may move them once. Other transfers are
        not negative.

        Minus infinity if a price is negative. Also if lanes are so cheap that it may be cheaper to
        load them one by one, which depends on the storage of other Funcs.
        """
        prices = self.prices
        if min(attrs.astuple(prices)) < 0 or prices.lane < _LEAST_LANE * prices.load:
            return -np.inf
        cycles: SymbolicNumber = 0.0
        for func in features.funcs:
            cycles = self._with_work(cycles, features, func)
            cycles = cycles + self._certain_moves(evolve(features, funcs=(func,)), func)
            for stage in func.stages:
                for loop in stage.own:
                    names_it = loop.key[:2] == (stage.func, stage.index)
                    if names_it and loop.kind is LoopKind.PARALLEL:
                        cycles = cycles + self._tasks(loop.runs / loop.positive_trips, loop.runs)
        return cycles

    def _certain_moves(self, features: Features, func: FuncFeatures) -> SymbolicNumber:
        """Cycles to move lines, at least, however other Funcs are scheduled."""
        traffic = Traffic(unfuse(features), self.device.cache_line_bytes)
        alone = [name for name, readers in features.readers.items() if readers == {func.name}]
        (nested,) = traffic.features.funcs
        stages = [
            (stage, self.speedup(shared))
            for stage, shared in zip(nested.stages, func.stages, strict=True)
            if stage.loops and not stage.work.is_undefined
        ]
        cycles: SymbolicNumber = 0.0
        for buffer in (func.name, *alone):
            for cache, price in self._caches():
                most: SymbolicNumber = 0.0  # stages of a fused loop may move the lines together
                for stage, speedup in stages:
                    if buffer in buffers_of(stage):
                        body = traffic.least(stage, buffer, cache, price) / speedup
                        most = maximum(most, 2 * body if buffer == func.name else body)
                cycles = cycles + most
        return cycles

    def _with_work(
        self, cycles: SymbolicNumber, features: Features, func: FuncFeatures
    ) -> SymbolicNumber:
        """``cycles`` and those of the stages of a Func, and of its allocations."""
        for stage in func.stages:
            cycles = cycles + self.compute_cycles(features, stage)
        return cycles + self.allocation_cycles(func)

    def allocation_cycles(self, func: FuncFeatures) -> SymbolicNumber:
        """Cycles of the allocations of a Func. Allocators give out the same memory again, so what
        fits the second-level cache is in it already.
        """
        if func.is_output:
            return 0.0
        size = func.allocation_bytes
        new = maximum(size - self.device.l2_bytes, 0)
        each = where(size <= AUTO_STACK_BYTES, 0.0, self.prices.allocation + self.prices.byte * new)
        around = func.stages[0].loops[: func.store_depth]
        return func.allocations * each / self._cores_busy(around)

    def compute_cycles(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """Cycles of the evaluations and loops of a stage on the slowest core."""
        return self._cycles_of_one_core(features, stage) / self.speedup(stage)

    def _cycles_of_one_core(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """Cycles of all evaluations and of the loops around them. The longest of three times
        counts: that of the arithmetic units, that of the load and store units, and that for which
        sums wait for their last term.
        """
        if stage.work.is_undefined:
            return 0.0
        func = features.func(stage.func)
        moved: SymbolicNumber = 0.0
        written, spilled = self.registers.stored_shares(features, func, stage)
        for access in stage.work.accesses:
            bits = 8 * features.element_bytes(access.buffer)
            loads = access.reads * self._load(features, stage, access, bits)
            is_own = access.buffer == stage.func and access.in_place
            moved = moved + (
                loads * written if is_own else loads / copies_that_share(stage.own, access.moved_by)
            )
        along = stage.vector_dimensions
        registers = sum(self.registers.of(stage.lanes, type.bits) for type in func.types)
        apart = bool(along) & ((along != features.along_rows(func)) | _wraps(features, func))
        scattered = self.prices.scatter * stage.lanes
        moved = moved + where(apart, scattered, self.prices.store * registers) * written
        pointers = self.registers.missing_pointers(features, func, stage, written)
        moved = moved + self.prices.load * pointers
        computed = sum(self._operations(stage, *part) for part in stage.work.parts)
        # A spilled sum waits for memory between two terms, so nothing else hides it. Values of
        # vectors that are too wide move with each operation.
        crowded = self.registers.crowded_share(registers) * (stage.work.operations.total + 1)
        spills = (self.prices.load + self.prices.store) * registers * (spilled + crowded)
        vectors = stage.points / stage.lanes
        latency = self.prices.latency + self.prices.forwarding * written
        waiting = (
            vectors
            * registers
            * latency
            / self.registers.sums_at_once(features, func, stage, written)
        )
        busy = maximum(maximum(vectors * moved, computed), waiting)
        loops = self.loop_overhead.of(features, stage)
        delays = self.prices.stall * stalls(features, stage) + self._in_one_step(features, stage)
        return busy + vectors * spills + loops + delays

    def _in_one_step(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """Cycles that atomic updates cost more than others. The expected number of other threads
        that update the same line grows with the threads and falls with the lines.
        """
        loops = contended_loops(features, stage, (LoopKind.PARALLEL,))
        if not loops:
            return 0.0
        func = features.func(stage.func)
        size = shared_elements(features, stage, loops) * func.bytes
        lines = maximum(size / self.device.cache_line_bytes, 1)
        others = (self._cores_busy(loops) - 1) * _IN_FLIGHT / (_IN_FLIGHT + lines)
        each = self.prices.atomic + self.prices.contended * others
        return stage.points * len(func.types) * each

    def _operations(
        self, stage: StageFeatures, moved_by: frozenset[str], operations: Operations
    ) -> SymbolicNumber:
        """Cycles of operations whose results depend on some Vars only (``moved_by``). Compilers
        move them out of all loops inside the innermost loop over one of these Vars.
        """
        prices = self.prices
        walking = [i for i, loop in enumerate(stage.own) if moved_by & set(loop.dimensions)]
        repeated = stage.own[: walking[-1] + 1] if walking else ()
        lanes = volume(tuple(v.positive_trips for v in repeated if v.kind is LoopKind.VECTORIZED))
        if len(repeated) == len(stage.own):
            times = stage.points
        else:
            times = repeated[-1].runs if repeated else stage.visits
        times = times / copies_that_share(repeated, moved_by)
        registers = self.registers.of(lanes, operations.bits / operations.total)
        calls = operations.transcendental * prices.transcendental
        divisions = operations.divisions * prices.division
        plain = operations.instructions * prices.instruction * registers / lanes
        return times * (plain + calls + divisions)

    def _load(
        self, features: Features, stage: StageFeatures, access: ReadGroup, bits: int
    ) -> SymbolicNumber:
        """Cycles to load one vector of values from the first-level cache."""
        along = stage.vector_dimensions
        moving = [index for index in access.indices if index.may_move(along)]
        if not along or not moving:
            return self.prices.load
        if len(moving) > 1 and not all(index.is_known for index in moving):
            return self.prices.gather * stage.lanes
        first = access.indices[features.order(access.buffer)[0]]
        step = abs(first.step(along[0]))
        # A clamp changes only the iterations at the ends of a loop; an unrolled loop has none.
        walks = any(
            first.step(name)
            for loop in stage.own
            if not loop.kind.has_constant_extent
            for name in loop.dimensions
        )
        is_bent = first.course > Course.ROUNDED or (first.course is Course.CLAMPED and not walks)
        is_run = moving == [first] and not is_bent and len(along) == 1
        if not is_run or step > 1 or step.denominator > _LARGEST_DIVISOR:
            return self.prices.lane * stage.lanes
        dense = self.registers.of(stage.lanes, bits)
        if step == 1:
            read = features.computed(access.buffer)
            # Nothing is known of an image, or of a Func that is still open.
            apart = False if read is None else _wraps(features, read)
            return where(apart, self.prices.lane * stage.lanes, self.prices.load * dense)
        # Neighboring lanes read the same element or the next one; the first and the last lane of a
        # vector may share theirs with other vectors.
        elements = (stage.lanes - 1) * step.numerator // step.denominator + 2
        return self.prices.load * self.registers.of(elements, bits) + self.prices.shuffle * dense

    def _memory(self, features: Features) -> SymbolicNumber:
        """Cycles to move lines to the first-level cache, and out again."""
        cycles: SymbolicNumber = 0.0
        for moved in self.transfer_cycles(features, list_transfers(features)):
            cycles = cycles + sum(moved.values())
        return cycles

    def transfer_cycles(
        self, features: Features, transfers: list[Transfer]
    ) -> Iterator[dict[TransferPlace, SymbolicNumber]]:
        """Cycles to move lines to the first-level cache and out again: from the second-level cache,
        from the third, and from memory. All transfers with the same place have one number.
        """
        traffic = Traffic(unfuse(features), self.device.cache_line_bytes)
        speedups = {(one.func, one.index): self.speedup(one) for one in features.stages}
        for cache, price in self._caches():
            yield self._moves(traffic, transfers, speedups, cache, price)

    def _caches(self) -> Iterator[tuple[Cache, Callable[[Footprint], SymbolicNumber]]]:
        """Each cache of a core, with what it costs to move a footprint there."""
        device, prices = self.device, self.prices
        last = Cache(device.l3_bytes // device.cores, is_even=True)
        for cache, line, row in (
            (Cache(device.l1_bytes), prices.line_from_l2, 0.0),
            (Cache(device.l2_bytes), prices.line_from_l3, prices.row_from_l3),
            (last, prices.line_from_memory, prices.row_from_memory),
        ):

            def price(body: Footprint, line: float = line, row: float = row) -> SymbolicNumber:
                return body.lines * line + body.rows * row

            yield cache, price

    def _moves(
        self,
        traffic: Traffic,
        transfers: list[Transfer],
        speedups: Mapping[tuple[str, int], SymbolicNumber],
        cache: Cache,
        price: Callable[[Footprint], SymbolicNumber],
    ) -> dict[TransferPlace, SymbolicNumber]:
        """Cycles to move all missing data into a cache.

        Stages in one loop body that read the same data move it once.
        """
        # The order of the sum must not depend on the numbers: sums of floats do.
        moved: dict[TransferPlace, SymbolicNumber | None] = dict.fromkeys(
            place for transfer in transfers for place in transfer.places
        )
        fitting = {
            (stage.func, stage.index): traffic.fitting_depth(stage, cache)
            for stage in traffic.features.stages
            if stage.loops
        }
        for transfer in transfers:
            stage, buffer = transfer.stage, transfer.buffer
            fits, is_written = fitting[stage.func, stage.index], buffer == stage.func
            bodies: dict[TransferPlace, SymbolicNumber] = {}
            for depth, here, body in traffic.moves(stage, buffer, fits, transfer.resident, price):
                place = transfer.places[depth]
                bodies[place] = where(here, body, bodies.get(place, 0.0))
            for place, body in bodies.items():
                # A write fetches its line first and evicts it later.
                cost = (2 * body if is_written else body) / speedups[stage.func, stage.index]
                known = moved[place]
                moved[place] = cost if known is None else maximum(known, cost)
        return {place: cost for place, cost in moved.items() if cost is not None}

    def speedup(self, stage: StageFeatures) -> SymbolicNumber:
        """The number of cores that share the iterations of the parallel loops around a stage."""
        return self._cores_busy(stage.loops)

    def _cores_busy(self, loops: Iterable[LoopFeatures]) -> SymbolicNumber:
        trips = tuple(loop.positive_trips for loop in loops if loop.kind is LoopKind.PARALLEL)
        tasks = volume(trips)
        rounds = -(-tasks // self.device.cores)
        return tasks / rounds

    def _parallel_overhead(self, features: Features) -> SymbolicNumber:
        """Cycles to start threads, once for each parallel loop."""
        cycles: SymbolicNumber = 0.0
        for overhead in self.parallel_overheads(features).values():
            cycles = cycles + overhead
        return cycles

    def parallel_overheads(self, features: Features) -> dict[LoopKey, SymbolicNumber]:
        """Cycles to start the threads of each parallel loop; a fused loop is as long as for the
        stage with the most iterations.
        """
        loops: dict[LoopKey, tuple[SymbolicNumber, SymbolicNumber]] = {}
        for loop in (loop for stage in features.stages for loop in stage.loops):
            if loop.kind is LoopKind.PARALLEL:
                starts, runs = loop.runs / loop.positive_trips, loop.runs
                if loop.key in loops:
                    starts, runs = map(maximum, loops[loop.key], (starts, runs))
                loops[loop.key] = (starts, runs)
        return {key: self._tasks(starts, runs) for key, (starts, runs) in loops.items()}

    def _tasks(self, starts: SymbolicNumber, runs: SymbolicNumber) -> SymbolicNumber:
        """Cycles to start a parallel loop so often, with so many iterations in all."""
        return starts * self.prices.launch + runs * self.prices.task / self.device.cores


def _wraps(features: Features, func: FuncFeatures) -> SymbolicCondition:
    """Whether rows of its folded storage end anywhere in a vector: where a window slides along."""
    if not func.args:
        return False
    along_rows = features.order(func.name)[0]
    return func.allocated[along_rows] < func.stored[along_rows]
