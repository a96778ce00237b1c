"""Features of a loop nest as formulas, written once and read as ints or as arrays.

A :class:`Features` holds a number for each quantity. In what
:func:`~spaces.features.extraction.extract_features` returns, these are formulas over tile
parameters and sizes. :meth:`Features.read` gives the same record with ints, or with arrays for all
tile choices of one structure. Properties and methods derive other numbers by arithmetic (bytes,
loads, distances), so they work on formulas and arrays alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property

import attrs
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from spaces.features.accesses import Index, ReadGroup
from spaces.features.buffers import MemoryBuffer, spans
from spaces.features.constant_loops import FusedLoops
from spaces.features.records import (
    FuncFeatures,
    KernelFeatures,
    LoopFeatures,
    LoopKey,
    StageFeatures,
    leaves_of,
    total,
    volume,
    with_numbers,
)
from spaces.features.work import loads_of_funcs
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.algebra import ARRAYS, INTEGERS, read_all
from spaces.model.formulas.symbolic import SymbolicNumber, maximum
from spaces.model.nest.allocation import memory_order
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import outline


@frozen(repr=False)
class Features:
    """Everything counted about one structure: its computed Funcs, producers first, and its GPU
    kernels.

    Attributes:
        is_image: which buffers are images, by name. In a partial schedule, Funcs that are not
            decided count as images.
        image_extents: those of each image whose size is known.
        constant_loops: loops that have the same number of iterations for all sizes.
        fused_loops: what each stage makes of its fused loops, by Func and number.
        readers: for a lower bound, the Funcs that may read each image of the pipeline in a
            completion, without an entry for Funcs that are not decided. Else empty.
    """

    pipeline: Pipeline
    schedule: Schedule
    funcs: tuple[FuncFeatures, ...]
    kernels: tuple[KernelFeatures, ...]
    is_image: Mapping[str, bool] = field(eq=False)
    image_extents: Mapping[str, tuple[SymbolicNumber, ...]] = field(eq=False, factory=dict)
    constant_loops: frozenset[LoopKey] = field(eq=False, factory=frozenset)
    fused_loops: Mapping[tuple[str, int], tuple[FusedLoops, ...]] = field(eq=False, factory=dict)
    readers: Mapping[str, frozenset[str]] = field(eq=False, factory=dict)

    def __repr__(self) -> str:
        return outline(self)

    @cached_property
    def _by_name(self) -> dict[str, FuncFeatures]:
        return {func.name: func for func in self.funcs}

    def func(self, name: str) -> FuncFeatures:
        """The features of one computed Func.

        Raises:
            KeyError: the Func is inlined, or does not exist.
        """
        found = self.computed(name)
        if found is not None:
            return found
        raise KeyError(f"{name} is not computed in this schedule of {self.pipeline.name}.")

    def computed(self, name: str) -> FuncFeatures | None:
        """The features of a Func; None if it is no computed Func of the pipeline."""
        return self._by_name.get(name)

    @cached_property
    def stages(self) -> tuple[StageFeatures, ...]:
        """The stages of all computed Funcs, producers first."""
        return tuple(stage for func in self.funcs for stage in func.stages)

    @cached_property
    def atomic(self) -> frozenset[tuple[str, int]]:
        """The stages that change each element in one step, by Func and number."""
        return frozenset((entry.name, n) for entry in self.schedule.funcs for n in entry.atomic)

    @property
    def names(self) -> frozenset[str]:
        """The parameters and sizes that its formulas name."""
        leaves = (*leaves_of(self.funcs), *leaves_of(self.kernels))
        return frozenset().union(*(leaf.names for leaf in leaves))

    def read(self, values: Mapping[str, int | float | NDArray[np.int64]]) -> Features:
        """The same record with every formula read at ``values``, as ints or arrays.

        Raises:
            FormulaError: a parameter or size has no value.
        """
        return self.map_numbers(lambda leaves: read_all(leaves, values, ARRAYS))

    def map_numbers(
        self, numbers_of: Callable[[tuple[Expr, ...]], Iterable[SymbolicNumber]]
    ) -> Features:
        """The same record with the numbers that ``numbers_of`` gives for its formulas."""
        varying = (func for func in self.funcs if func.constants is None)
        of_funcs = (formula for func in varying for formula in func.formulas)
        leaves = tuple(dict.fromkeys((*of_funcs, *leaves_of(self.kernels))))
        number = dict(zip(leaves, numbers_of(leaves), strict=True)).__getitem__
        return attrs.evolve(
            self,
            funcs=tuple(func.constants or with_numbers(func, number) for func in self.funcs),
            kernels=with_numbers(self.kernels, number),
        )

    def read_ints(self, values: Mapping[str, int]) -> Features:
        """The same record with ints."""
        return self.map_numbers(lambda leaves: read_all(leaves, values, INTEGERS))

    @cached_property
    def ordered(self) -> frozenset[LoopKey]:
        """Loops that must run in order, because an iteration reads values of an earlier one. They
        lie between the store level and the compute level of a Func.
        """
        return frozenset(
            loop.key
            for func in self.funcs
            if func.slides
            for loop in func.stages[0].loops[func.store_depth : func.depth]
        )

    def span(self, func: str) -> SymbolicNumber:
        """The number of values of ``func`` that could be computed at once: the threads and lanes
        that could be busy [RK13 Fig. 3].
        """
        stage = self.func(func).stages[0]
        return volume(
            tuple(
                loop.trips
                for loop in stage.loops
                if loop.key not in self.ordered and not set(loop.dimensions) & set(stage.reduced)
            )
        )

    def reuse_distance(self, func: str) -> SymbolicNumber:
        """The largest number of reads between computing a value and reading it [RK13 Fig. 3].

        These are the reads of one visit. If values outlive the visit, they are the reads of one
        iteration of the loop at the compute level. [RK13] counts one operation for each added
        value, which gives the same number.
        """
        features = self.func(func)
        level = features.stages[0].loops[features.depth - 1] if features.slides else None
        inside = features.stages if level is None else self.stages
        return total(_typical_reads(s, level) for s in inside if _is_inside(s, level))

    def working_set(self, func: str) -> SymbolicNumber:
        """Bytes that one visit of ``func`` touches: the values that its consumers need, and what
        its stages read of each other buffer. The Vars of ``func`` range over these values, and its
        RVars over their whole domains. Of a buffer that several stages read, the stage that reads
        most counts.

        Raises:
            KeyError: the Func is inlined, or does not exist.
        """
        features = self.func(func)
        read: dict[str, SymbolicNumber] = {}
        for stage in features.stages:
            extents = {**stage.reduced_extents}
            extents |= zip(features.args, features.required, strict=True)
            for buffer in stage.work.buffers:
                if buffer != func:
                    touched = self.footprint(stage, buffer, extents)
                    read[buffer] = maximum(read.get(buffer, 0), touched)
        return volume(features.required) * features.bytes + total(read.values())

    def footprint(
        self, stage: StageFeatures, buffer: str, extents: Mapping[str, SymbolicNumber]
    ) -> SymbolicNumber:
        """Bytes of ``buffer`` that ``stage`` reads while its Vars and RVars range over ``extents``:
        B of [S19] (7), (10) and (11).
        """
        return total(
            volume(self.touched(buffer, access.indices, extents)) * self.element_bytes(buffer)
            for access in stage.work.accesses
            if access.buffer == buffer
        )

    def touched(
        self, buffer: str, indices: Sequence[Index], extents: Mapping[str, SymbolicNumber]
    ) -> tuple[SymbolicNumber, ...]:
        """The extents of ``buffer`` that coordinates touch while Vars and RVars range over
        ``extents`` (:meth:`MemoryBuffer.touched`).
        """
        return self.buffer(buffer).touched(indices, extents)

    def moved_vars(self, stage: StageFeatures, loop: LoopFeatures) -> frozenset[str]:
        """The Vars of ``stage`` that move with a loop around it, which may be a consumer's loop."""
        for own in stage.own:
            if own.key == loop.key:
                return frozenset(own.dimensions)
        args = self.func(stage.func).args
        moved: set[str] = set()
        for reader in self.stages:
            reads = [a for a in reader.work.accesses if a.buffer == stage.func]
            if reads and reader.func != stage.func and _is_inside(reader, loop):
                outer = self.moved_vars(reader, loop)
                for access in reads:
                    moved |= {
                        arg
                        for arg, index in zip(args, access.indices, strict=True)
                        if any(index.step(var) for var in outer)
                    }
        return frozenset(moved)

    def order(self, buffer: str) -> tuple[int, ...]:
        """The dimensions of a buffer as they lie in memory, innermost first."""
        return self.buffer(buffer).order

    def buffer(self, name: str) -> MemoryBuffer:
        """A Func or an image as it lies in memory."""
        found = self._buffers.get(name)
        if found is None:
            found = self._buffers[name] = self._find_buffer(name)
        return found

    @cached_property
    def _buffers(self) -> dict[str, MemoryBuffer]:
        return {}

    def _find_buffer(self, name: str) -> MemoryBuffer:
        pipeline, func = self.pipeline, self.computed(name)
        is_image = name not in pipeline.places
        args = () if is_image else pipeline.function(name).args
        dimensions = pipeline.image(name).dimensions if is_image else len(args)
        steps = pipeline.steps(name, dimensions)
        entry = next((one for one in self.schedule.funcs if one.name == name), None)
        if is_image or entry is None or name in pipeline.outputs:
            order = tuple(
                sorted(range(dimensions), key=lambda d: (steps[d] is None, steps[d] or 0))
            )
        else:
            order = memory_order(args, entry.storage_orders)
        return MemoryBuffer(
            name=name,
            order=order,
            element_bytes=self.element_bytes(name),
            func=func,
            extents=self.image_extents.get(name),
            estimate=pipeline.estimate(name),
            steps=steps,
        )

    def beside(self, stage: StageFeatures) -> Hashable:
        """All that a cost of a stage may depend on, besides its Func: the buffers that it reads,
        and what is known of its loops. Equal for stages that stand beside the same.
        """
        key = (stage.func, stage.index)
        is_atomic = key in self.atomic
        return (
            tuple(map(self.buffer, (stage.func, *stage.work.buffers))),
            tuple(loop.key in self.constant_loops for loop in stage.own),
            self.fused_loops.get(key, ()),
            self.pipeline.function(stage.func) if is_atomic else None,
        )

    def along_rows(self, func: FuncFeatures) -> tuple[str, ...]:
        """The Var along which values of a Func are neighbors in memory; none without Vars."""
        return tuple(func.args[d] for d in self.order(func.name)[:1])

    def element_bytes(self, buffer: str) -> int:
        """Bytes of one element of a Func or image."""
        return self.pipeline.element_bytes[buffer]

    def loads_of_funcs(self, stage: StageFeatures) -> SymbolicNumber:
        """The number of values of stored Funcs that a stage loads [TOY]."""
        return stage.points * loads_of_funcs(stage.work, self.is_image)


def reads_of(stage: StageFeatures) -> SymbolicNumber:
    """The number of values of Funcs and images that a stage reads."""
    return stage.points * sum(access.reads for access in stage.work.accesses)


def copies_that_share(loops: Iterable[LoopFeatures], moved_by: frozenset[str]) -> SymbolicNumber:
    """How many copies of an unrolled body share a value that only some Vars change (``moved_by``).
    Compilers compute or load it once for all of them.
    """
    same = (v for v in loops if v.kind is LoopKind.UNROLLED and moved_by.isdisjoint(v.dimensions))
    return volume(tuple(loop.positive_trips for loop in same))


def read_extents(
    access: ReadGroup, extents: Mapping[str, SymbolicNumber]
) -> tuple[SymbolicNumber, ...]:
    """The number of elements that ``access`` spans in each dimension, while Vars range over
    ``extents``.
    """
    return spans(access.indices, extents)


def _is_inside(stage: StageFeatures, level: LoopFeatures | None) -> bool:
    return level is None or any(loop.key == level.key for loop in stage.loops)


def _typical_reads(stage: StageFeatures, level: LoopFeatures | None) -> SymbolicNumber:
    """Reads of a stage in a typical iteration of ``level``, or in a typical visit of the stage."""
    keys = [loop.key for loop in stage.loops]
    first = stage.depth if level is None else keys.index(level.key) + 1
    reads = sum(access.reads for access in stage.work.accesses)
    return volume(tuple(loop.trips for loop in stage.loops[first:])) * reads
