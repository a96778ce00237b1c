"""Costs on a CPU: computation, recomputation and data movement between caches.

Follows section 3 of [S19]: a placement and its tile sizes decide which values a stage computes
(equations 2 to 4), keeps (1, 8, 9, 12) and loads (5 to 7, 10, 11, 13). A prefetcher hides the
elements of a row but not its start (6). To rank schedules that differ in more than fusion, the
model weights loads by their cache, work by its vector unit, and both by the cores that share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial, reduce

import attrs
import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.cost.batch import Batch
from spaces.cost.cpu.catalogue import PRICES, TERMS, check_terms
from spaces.cost.cpu.fitted_errors import ERRORS
from spaces.cost.cpu.price_fit import fit_prices
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.registers import Registers
from spaces.cost.cpu.term import (
    ACCESS,
    ALLOCATION,
    DELAY,
    DEPENDENCE,
    FOREIGN,
    KINDS,
    LOOP,
    OPERATION,
    OVERHEAD,
    PARTS,
    SPILL,
    Core,
    ParallelLoop,
    no_cycles,
)
from spaces.cost.cpu.terms.accesses import LANE, LOAD
from spaces.cost.cpu.transfers import caches, list_transfers, transfer_cycles
from spaces.cost.errors import PriceErrors
from spaces.cost.training import PricedRun
from spaces.features.features import Features
from spaces.features.lanes_together import join_lanes
from spaces.features.records import FuncFeatures, LoopFeatures, LoopKey, StageFeatures
from spaces.features.traffic import Traffic, buffers_of
from spaces.features.unfuse import unfuse
from spaces.model.formulas.symbolic import SymbolicNumber, as_array, maximum, minimum
from spaces.model.schedules.domain_order import LoopKind

_LEAST_LANE = 0.8
"""From this share of the price of a load on, lanes that are apart cost at least as much as a load
of all: of three lanes of 64 bits, two accesses and 24/64 of another one if a unit has 128 bits.
"""


@frozen
class Reuse:
    """Estimated cycles of the slowest core: a sum of terms (``spaces/cost/cpu/terms``).

    Attributes:
        device: the CPU.
        prices: the costs of operations on this CPU.
        left_out: the names of terms that do not count.
        errors: how far the prices are wrong; the default is fitted with all terms.
    """

    device: CpuDevice
    prices: Prices = field(factory=Prices)
    left_out: frozenset[str] = frozenset()
    errors: PriceErrors = field(default=ERRORS, repr=False)

    @property
    def adds_nests(self) -> bool:
        """Always true: nests share only the last-level cache."""
        return True

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

    def without(self, *terms: str) -> Reuse:
        """The model without some terms, such as ``without("missing pointers")``.

        Raises:
            UnknownTermError: no term has one of the names.
        """
        check_terms(terms)
        return evolve(self, left_out=self.left_out.union(terms))

    @cached_property
    def _core(self) -> Core:
        """A core, with the terms that are not left out and whose prices are not all 0."""
        prices = {one: getattr(self.prices, one.name) for one in PRICES}
        counted = [
            one
            for one in TERMS
            if one.name not in self.left_out
            and (not one.owns or any(as_array(prices[price]).any() for price in one.owns))
        ]
        functions = {
            kind: tuple(one.function for one in counted if one.kind is kind) or (no_cycles,)
            for kind in KINDS
        }
        return Core(self.device, Registers(self.device), prices, functions)

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return batch.full(self.price(batch.features))

    def price(self, features: Features) -> SymbolicNumber:
        cycles: SymbolicNumber = 0.0
        for _, moved in transfer_cycles(self._core, features, list_transfers(features)):
            cycles = cycles + sum(moved.values())
        for func in features.funcs:
            cycles = self._with_work(cycles, features, func)
        return cycles + sum(self._parallel_overheads(features).values(), 0.0)

    def retrain(self, runs: Sequence[PricedRun]) -> Reuse:
        """The model with the prices that fit the times of some runs (:func:`fit_prices`). It
        begins with the present prices, and prices that the times say little about stay near them.
        """

        def price(prices: Prices, run: PricedRun) -> SymbolicNumber:
            return evolve(self, prices=prices).price(run.batch.features)

        return evolve(self, prices=fit_prices(runs, self.prices, price))

    def parts(self, features: Features) -> Mapping[tuple[str, int], Mapping[str, SymbolicNumber]]:
        """The parts of each stage, by Func and number of the stage.

        Lines that several stages move together count for the first of these stages. An allocation
        counts for the first stage of its Func, and a parallel loop for the stage that gives it its
        name.
        """
        found: dict[tuple[str, int], dict[str, SymbolicNumber]] = {
            (stage.func, stage.index): dict.fromkeys(PARTS, 0.0) for stage in features.stages
        }
        for func in features.funcs:
            for stage in func.stages:
                found[stage.func, stage.index]["compute"] = self._compute_cycles(features, stage)
            found[func.name, 0][ALLOCATION.part] = self._allocation_cycles(func)
        transfers = list_transfers(features)
        owners = {
            place: (one.stage.func, one.stage.index)
            for one in reversed(transfers)
            for place in one.places
        }
        for kind, moved in transfer_cycles(self._core, features, transfers):
            for place, cycles in moved.items():
                of = found[owners[place]]
                of[kind.part] = of[kind.part] + cycles
        for (func_name, stage_index, _), cycles in self._parallel_overheads(features).items():
            of = found[func_name, stage_index]
            of[OVERHEAD.part] = of[OVERHEAD.part] + cycles
        return found

    def least(self, features: Features) -> SymbolicNumber:
        """Cycles of stages, allocations and parallel loops, and of transfers that each completion
        has.

        Stages and allocations add up over Funcs, and depend on the Func's own loops, reads and
        operations. A parallel loop that several stages share has the cost of the stage with the
        most iterations. That is at least the cost of the stage that gives the loop its name. A Func
        moves its own lines (:meth:`Traffic.least`), and the lines of images that no other Func
        reads: two Funcs that read the same lines in a loop may move them once. Other transfers are
        not negative.

        Minus infinity if a price is negative. Also if lanes are so cheap that it may be cheaper to
        load them one by one, which depends on the storage of other Funcs.
        """
        core = self._core
        if min(attrs.astuple(self.prices)) < 0 or core[LANE] < _LEAST_LANE * core[LOAD]:
            return -np.inf
        cycles: SymbolicNumber = 0.0
        for func in features.funcs:
            cycles = self._with_work(cycles, features, func)
            cycles = cycles + self._certain_moves(evolve(features, funcs=(func,)), func)
            for stage in func.stages:
                for loop in stage.own:
                    names_it = loop.key[:2] == (stage.func, stage.index)
                    if names_it and loop.kind is LoopKind.PARALLEL:
                        one = ParallelLoop(loop.runs / loop.positive_trips, loop.runs)
                        cycles = cycles + core.sum_terms(OVERHEAD, one)
        return cycles

    def _certain_moves(self, features: Features, func: FuncFeatures) -> SymbolicNumber:
        """Cycles to move lines, at least, however other Funcs are scheduled. Where one of them is
        computed inside a vectorized loop, the loop stays there; else its lanes go together.
        """
        core = self._core
        apart = unfuse(features)
        views = [Traffic(view, self.device.cache_line_bytes) for view in (apart, join_lanes(apart))]
        alone = [name for name, readers in features.readers.items() if readers == {func.name}]
        nested = [traffic.features.funcs[0].stages for traffic in views]
        stages = [
            (list(zip(views, of_views, strict=True)), core.cores_busy(shared.loops))
            for shared, *of_views in zip(func.stages, *nested, strict=True)
            if shared.loops and not shared.work.is_undefined
        ]
        cycles: SymbolicNumber = 0.0
        into = [(cache, partial(core.sum_terms, kind)) for kind, cache in caches(core)]
        for buffer in (func.name, *alone):
            for cache, price in into:
                most: SymbolicNumber = 0.0  # stages of a fused loop may move the lines together
                for of_views, speedup in stages:
                    if buffer in buffers_of(of_views[0][1]):
                        bounds = (at.least(stage, buffer, cache, price) for at, stage in of_views)
                        body = reduce(minimum, bounds) / speedup
                        most = maximum(most, 2 * body if buffer == func.name else body)
                cycles = cycles + most
        return cycles

    def _with_work(
        self, cycles: SymbolicNumber, features: Features, func: FuncFeatures
    ) -> SymbolicNumber:
        """``cycles`` and those of the stages of a Func, and of its allocations."""
        for stage in func.stages:
            cycles = cycles + self._compute_cycles(features, stage)
        return cycles + self._allocation_cycles(func)

    def _allocation_cycles(self, func: FuncFeatures) -> SymbolicNumber:
        """Cycles of the allocations of a Func."""
        if func.is_output:
            return 0.0
        around = func.stages[0].loops[: func.store_depth]
        each = self._core.sum_terms(ALLOCATION, func)
        return _times_taken(around) * each / self._core.cores_busy(around)

    def _compute_cycles(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """Cycles of the evaluations and loops of a stage on the slowest core. They are found once
        for all structures in which the same features of its Func stand beside the same.
        """
        known, core = features.func(stage.func).known, self._core
        key = stage.index, features.beside(stage)
        found = known.get(key)
        if found is None or found[0] is not core:
            found = known[key] = core, self._find_compute_cycles(features, stage)
        cycles: SymbolicNumber = found[1]
        return cycles

    def _find_compute_cycles(self, features: Features, stage: StageFeatures) -> SymbolicNumber:
        """Cycles of the evaluations and loops of a stage on the slowest core. The longest of three
        times counts: that of the load and store units, that of the arithmetic units, and that for
        which results wait for each other.
        """
        if stage.work.is_undefined:
            return 0.0
        core = self._core
        view = core.view_stage(features, stage)
        if stage.work.code is not None:
            return core.sum_terms(FOREIGN, view) / core.cores_busy(stage.loops)
        busy = maximum(view.vectors * core.sum_terms(ACCESS, view), core.sum_terms(OPERATION, view))
        cycles = maximum(busy, core.sum_terms(DEPENDENCE, view))
        for kind in (SPILL, LOOP, DELAY):
            cycles = cycles + core.sum_terms(kind, view)
        return cycles / core.cores_busy(stage.loops)

    def _parallel_overheads(self, features: Features) -> dict[LoopKey, SymbolicNumber]:
        """Cycles to start the threads of each parallel loop; a fused loop is as long as for the
        stage with the most iterations.
        """
        loops: dict[LoopKey, ParallelLoop] = {}
        for loop in (loop for stage in features.stages for loop in stage.loops):
            if loop.kind is LoopKind.PARALLEL:
                starts, runs = loop.runs / loop.positive_trips, loop.runs
                known = loops.get(loop.key)
                if known is not None:
                    starts, runs = maximum(known.starts, starts), maximum(known.runs, runs)
                loops[loop.key] = ParallelLoop(starts, runs)
        return {key: self._core.sum_terms(OVERHEAD, loop) for key, loop in loops.items()}


def _times_taken(around: Sequence[LoopFeatures]) -> SymbolicNumber:
    """How often memory is taken for a Func that is stored in some loops: once for all iterations of
    the serial loops directly around, for programs take it before these loops.
    """
    return next((one.runs for one in reversed(around) if one.kind is not LoopKind.SERIAL), 1)
