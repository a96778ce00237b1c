"""The features of the schedule of one stage: [A21] appendix A, for a CPU.

Where the paper counts blocks, warps and threads of a GPU, these count parallel tasks, vectors and
lanes. In place of global, shared and register memory there are the memory, the second-level and the
first-level cache, wherever a value still is when it is read. A *realization* is one allocation, a
*production* one visit of the loops of a stage, a *body* one iteration of its innermost loop, with
all lanes and unrolled copies.

Everything is arithmetic on :class:`spaces.features.features.Features`: ints give ints, arrays
give arrays for all tile choices at once. ``docs/papers.md`` lists each feature of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from attrs import define

from spaces.constraints.devices.device import CpuDevice
from spaces.features.accesses import Course, ReadGroup
from spaces.features.features import Features
from spaces.features.footprints import Footprint
from spaces.features.records import FuncFeatures, LoopFeatures, StageFeatures, total, volume
from spaces.features.traffic import Traffic
from spaces.model.formulas.symbolic import (
    SymbolicNumber,
    ceil,
    logical_not,
    maximum,
    minimum,
    where,
)
from spaces.model.schedules.domain_order import LoopKind

Numbers: TypeAlias = Mapping[str, SymbolicNumber]
"""Features by name."""

PLACES = ("memory", "l2", "l1")
"""Where a value is when it is read, the farthest first."""


def schedule_features(features: Features, device: CpuDevice) -> Iterator[tuple[StageView, Numbers]]:
    """The features of every stage that computes something, producers first."""
    traffic = Traffic(features, device.cache_line_bytes)
    for func in features.funcs:
        for stage in func.stages:
            if not stage.work.is_undefined:
                view = StageView(features, device, traffic, func, stage)
                yield view, view.numbers()


@define(slots=False)
class StageView:
    """One stage in its nest.

    Attributes:
        features: those of the whole structure.
        device: the CPU.
        traffic: the footprints of all stages.
        func: the Func of the stage.
        stage: the stage.
    """

    features: Features
    device: CpuDevice
    traffic: Traffic
    func: FuncFeatures
    stage: StageFeatures

    def numbers(self) -> Numbers:
        """All features by name."""
        return {
            **self._points(),
            **self._parallelism(),
            **self._reads(),
            **self._writes(),
            **self._instructions(),
            **self._working_sets(),
        }

    @cached_property
    def tasks(self) -> SymbolicNumber:
        """The iterations of all parallel loops around the stage, in a typical visit."""
        return _trips(loop for loop in self.stage.loops if loop.kind is LoopKind.PARALLEL)

    @cached_property
    def runs(self) -> SymbolicNumber:
        """All iterations of its innermost loop, those that compute nothing new included."""
        return self.stage.loops[-1].runs if self.stage.loops else 1

    @cached_property
    def _task_depth(self) -> int:
        """The number of loops around one task: up to the innermost parallel loop."""
        kinds = [loop.kind for loop in self.stage.loops]
        return max((i + 1 for i, kind in enumerate(kinds) if kind is LoopKind.PARALLEL), default=0)

    @cached_property
    def _all_tasks(self) -> SymbolicNumber:
        """The tasks of the whole run: each start of a parallel loop makes new ones."""
        return self.stage.loops[self._task_depth - 1].runs if self._task_depth else 1

    @cached_property
    def _body_depth(self) -> int:
        """The number of loops around a body: up to the innermost loop that stays a loop."""
        loops = self.stage.loops
        scalar = (i + 1 for i, v in enumerate(loops) if not v.kind.has_constant_extent)
        return max(scalar, default=0)

    @cached_property
    def bodies(self) -> SymbolicNumber:
        """How often the body of the innermost loop runs."""
        return self.stage.loops[self._body_depth - 1].runs if self._body_depth else 1

    def _points(self) -> Numbers:
        stage, func, own = self.stage, self.func, self.stage.own
        reduced = set(stage.reduced)
        loops = [loop for loop in own if not loop.kind.has_constant_extent]
        pure = [loop for loop in loops if not reduced & set(loop.dimensions)]
        return {
            "num_realizations": func.allocations,
            "num_productions": func.visits,
            "num_scalars": stage.points,
            "num_vectors": stage.points / stage.lanes,
            "points_computed_minimum": self._minimum,
            "points_computed_per_realization": stage.points / func.allocations,
            "points_computed_per_production": stage.points / func.visits,
            "points_computed_per_thread": _trips(
                loop for loop in own if loop.kind in (LoopKind.SERIAL, LoopKind.UNROLLED)
            ),
            "innermost_loop_extent": loops[-1].trips if loops else 1,
            "innermost_pure_loop_extent": pure[-1].trips if pure else 1,
            "unrolled_loop_extent": _trips(v for v in own if v.kind is LoopKind.UNROLLED),
            "redundancy": stage.points / maximum(1, self._minimum),
        }

    @cached_property
    def _minimum(self) -> SymbolicNumber:
        """The evaluations that computing at root would take."""
        reduced = set(self.stage.reduced)
        return self.func.distinct * _trips(
            loop for loop in self.stage.own if reduced & set(loop.dimensions)
        )

    def _parallelism(self) -> Numbers:
        stage, cores = self.stage, self.device.cores
        bits = 8 * max(type.bytes for type in self.func.types)
        registers = maximum(1, ceil(stage.lanes * (bits / self.device.vector_bits)))
        own = [loop for loop in stage.own if loop.kind is LoopKind.PARALLEL]
        return {
            "cores": cores,
            "num_tasks": self.tasks,
            "num_all_tasks": self._all_tasks,
            "num_bodies": self.bodies,
            "inner_parallelism": _trips(own),
            "outer_parallelism": _trips(
                v for v in stage.loops[: stage.depth] if v.kind is LoopKind.PARALLEL
            ),
            "task_launches": total(loop.runs / loop.positive_trips for loop in own),
            "num_vectors_per_task": stage.points / stage.lanes / self._all_tasks,
            "num_lanes": stage.lanes,
            "native_vector_size": self.device.vector_bits / bits,
            "idle_core_wastage": -(-self.tasks // cores) * cores / maximum(1, self.tasks),
            "lane_utilization": stage.lanes * bits / (registers * self.device.vector_bits),
            "idle_lane_wastage": 1 - minimum(1, stage.points / maximum(1, self.runs)),
        }

    def _place(self, working_set: SymbolicNumber) -> tuple[SymbolicNumber, ...]:
        """For each of :data:`PLACES` 1 if a value is there after this many other bytes, else 0."""
        in_l1 = working_set <= self.device.l1_bytes
        in_l2 = (working_set <= self.device.l2_bytes) & logical_not(in_l1)
        outside = working_set > max(self.device.l1_bytes, self.device.l2_bytes)
        return outside * 1, in_l2 * 1, in_l1 * 1

    def _place_of(self, buffer: str) -> tuple[SymbolicNumber, ...]:
        """Where the stage finds a buffer: the bytes that an iteration around both its computation
        and this read touches lie between.
        """
        if self.features.is_image[buffer]:
            return 1, 0, 0
        depth = min(self.features.func(buffer).depth, len(self.stage.loops))
        return self._place(self.traffic.working_set(self.stage, depth) if self.stage.loops else 0)

    def _footprint(self, buffer: str, depth: int) -> Footprint:
        return self.traffic.regions.footprint(self.stage, buffer, depth)

    def _bytes(self, body: Footprint) -> SymbolicNumber:
        return body.lines * self.device.cache_line_bytes

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        """The loops around one realization, task, and body."""
        return {
            "realization": self.func.store_depth,
            "task": self._task_depth,
            "thread": self._body_depth,
        }

    def _reads(self) -> Numbers:
        buffers = [name for name in self.stage.work.buffers if name != self.func.name]
        places = {name: self._place_of(name) for name in buffers}
        found: dict[str, SymbolicNumber] = {}
        for within in ("realization", "thread"):
            read = {name: self._footprint(name, self._depths[within]) for name in buffers}
            for number, place in enumerate(PLACES):
                found[f"unique_{place}_bytes_read_per_{within}"] = total(
                    self._bytes(read[name]) * places[name][number] for name in buffers
                )
                found[f"unique_{place}_lines_read_per_{within}"] = total(
                    read[name].rows * places[name][number] for name in buffers
                )
        for number, place in enumerate(PLACES):
            found[f"{place}_allocation_bytes_read_per_realization"] = total(
                self._allocation(name) * places[name][number] for name in buffers
            )
        task = [self._footprint(name, self._depths["task"]) for name in buffers]
        point = [self._footprint(name, len(self.stage.loops)) for name in buffers]
        found["unique_bytes_read_per_task"] = total(map(self._bytes, task))
        found["unique_lines_read_per_task"] = total(body.rows for body in task)
        found["unique_bytes_read_per_point"] = total(
            access.reads * self.features.element_bytes(access.buffer)
            for access in self.stage.work.accesses
        )
        found["unique_lines_read_per_point"] = total(body.rows for body in point)
        found["memory_loads_per_task"] = total(
            body.lines * places[name][0] for name, body in zip(buffers, task, strict=True)
        )
        needed = total(
            body.elements * self.features.element_bytes(name) * places[name][0]
            for name, body in zip(buffers, task, strict=True)
        )
        loaded = found["memory_loads_per_task"] * self.device.cache_line_bytes
        found["memory_load_efficiency"] = _share(needed, loaded)
        return found

    def _allocation(self, buffer: str) -> SymbolicNumber:
        """The bytes of the allocation of a buffer; for an image those that the stage reads."""
        if self.features.is_image[buffer] or self.features.func(buffer).is_output:
            return self._bytes(self._footprint(buffer, 0))
        return self.features.func(buffer).allocation_bytes

    def _writes(self) -> Numbers:
        name, func = self.func.name, self.func
        own = (1, 0, 0) if func.is_output else self._place(func.allocation_bytes)
        task = self._footprint(name, self._task_depth)
        found: dict[str, SymbolicNumber] = {}
        for number, place in enumerate(PLACES):
            found[f"{place}_bytes_at_task"] = self._bytes(task) * own[number]
            found[f"{place}_innermost_bytes_at_task"] = task.innermost * func.bytes * own[number]
        for within, depth in (("realization", func.store_depth), ("production", func.depth)):
            body = self._footprint(name, depth)
            found[f"bytes_at_{within}"] = body.elements * func.bytes
            found[f"innermost_bytes_at_{within}"] = body.innermost * func.bytes
        found["bytes_at_root"] = func.distinct * func.bytes
        found["memory_stores_per_task"] = task.lines * own[0]
        found["memory_store_efficiency"] = _share(task.elements * func.bytes, self._bytes(task))
        return found

    def _instructions(self) -> Numbers:
        """Loads and stores that the core issues: a gather issues one for each lane."""
        lanes, vectors = self.stage.lanes, self.stage.points / self.stage.lanes
        dense: SymbolicNumber = 0.0
        single: SymbolicNumber = 0.0
        for access in self.stage.work.accesses:
            instructions, is_gather = self._load(access)
            if is_gather:
                single = single + access.reads * lanes
            else:
                dense = dense + access.reads * instructions
        along = self.stage.vector_dimensions
        is_scatter = bool(along) and along != self.features.along_rows(self.func)
        stored = lanes if is_scatter else self._registers(8 * self.func.bytes)
        loaded = dense + single
        ideal = total(
            access.reads * self._registers(8 * self.features.element_bytes(access.buffer))
            for access in self.stage.work.accesses
        )
        return {
            "vector_loads_per_vector": dense,
            "scalar_loads_per_vector": single,
            "loads_per_task": vectors / self._all_tasks * loaded,
            "stores_per_task": vectors / self._all_tasks * stored,
            "load_efficiency": ideal / maximum(loaded, ideal) if self._has_reads else 1.0,
            "store_efficiency": self._registers(8 * self.func.bytes) / stored,
        }

    @property
    def _has_reads(self) -> bool:
        return bool(self.stage.work.accesses)

    def _load(self, access: ReadGroup) -> tuple[SymbolicNumber, bool]:
        """The instructions that load one vector, and whether they load lane by lane."""
        along = self.stage.vector_dimensions
        moving = [index for index in access.indices if index.may_move(along)]
        if not along or not moving:
            return 1, False
        first = access.indices[self.features.order(access.buffer)[0]]
        is_run = moving == [first] and first.course < Course.BENT and len(along) == 1
        if not is_run or abs(first.step(along[0])) > 1:
            return 1, True
        return self._registers(8 * self.features.element_bytes(access.buffer)), False

    def _registers(self, bits: int) -> SymbolicNumber:
        """The vector registers for the lanes of one value."""
        return maximum(1, ceil(self.stage.lanes * (bits / self.device.vector_bits)))

    def _working_sets(self) -> Numbers:
        func, device = self.func, self.device
        depths = {**self._depths, "production": func.depth, "root": 0}
        has_loops = bool(self.stage.loops)
        sets = {
            f"working_set_at_{within}": self.traffic.working_set(self.stage, depth)
            if has_loops
            else func.bytes
            for within, depth in depths.items()
        }
        at_task = sets["working_set_at_task"]
        return {
            **sets,
            "working_set": func.allocation_bytes,
            "l2_occupancy": at_task / max(1, device.l2_bytes),
            "l3_limit_factor": minimum(1, device.l3_bytes / maximum(1, device.cores * at_task)),
        }


def _trips(loops: Iterable[LoopFeatures]) -> SymbolicNumber:
    """The product of iterations, at least one for each loop."""
    return volume(tuple(loop.positive_trips for loop in loops))


def _share(needed: SymbolicNumber, moved: SymbolicNumber) -> SymbolicNumber:
    """How much of what moves is needed; all of it where nothing is."""
    moves = (needed > 0) & (moved > 0)
    return where(moves, minimum(1, needed / maximum(1, moved)), 1.0)
