"""Features of a loop nest as formulas, written once and read as ints or as arrays.

A :class:`Features` holds a number for each quantity. :func:`spaces.cost.counting.features` gives
formulas: expressions over tile parameters and sizes. :meth:`Features.read` gives the same record
with ints, or with arrays for all tile choices of one structure at once. Properties and methods
derive other numbers from these by arithmetic (bytes, loads, distances), so they work on formulas
and arrays alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
from attrs import field, frozen

from spaces.constraints.devices.occupancy import SymbolicNumber
from spaces.cost.accesses import Index, ReadGroup, Work, loads_of_funcs
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Const, Expr
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import ARRAYS, INTEGERS, FormulaError, Reading, read, read_all
from spaces.model.nest.allocation import memory_order
from spaces.model.schedules.domain_order import LoopKind, of_constant_extent
from spaces.model.schedules.schedule import Schedule

LoopKey = tuple[str, int, str]
"""The key of a loop in its nest: Func, stage and name."""


@frozen
class LoopFeatures:
    """One loop around or in a stage. A fused loop has the name of one of its loops, and for each
    stage this stage's own dimensions, trips and runs.

    Attributes:
        dimensions: the Vars and RVars of its own stage that it moves along.
        covers: of each dimension the number of values in the iterations of a typical visit; several
            dimensions, which a ``fuse`` joins, share the iterations.
        trips: the iterations in a typical visit.
        runs: the number of all runs of its body.
    """

    func: str
    stage: int
    loop: str
    kind: LoopKind
    dimensions: tuple[str, ...]
    covers: tuple[SymbolicNumber, ...]
    trips: SymbolicNumber
    runs: SymbolicNumber

    @property
    def key(self) -> LoopKey:
        """The key of the loop in its nest: Func, stage and name."""
        return (self.func, self.stage, self.loop)


@frozen
class StageFeatures:
    """One stage of a computed Func.

    Attributes:
        work: the operations and reads of one evaluation.
        loops: the loops around it, outermost first; the first ``depth`` belong to consumers.
        points: the number of all evaluations, redundant ones included.
        lanes: the iterations of its vectorized loops, 1 without vectorized loops.
        reduced: its RVars.
    """

    func: str
    index: int
    work: Work
    loops: tuple[LoopFeatures, ...]
    depth: int
    points: SymbolicNumber
    lanes: SymbolicNumber
    reduced: tuple[str, ...] = ()

    @property
    def visits(self) -> SymbolicNumber:
        """How often the program enters its loops."""
        return self.loops[self.depth - 1].runs if self.depth else 1

    @property
    def own(self) -> tuple[LoopFeatures, ...]:
        """The loops of its own domain order."""
        return self.loops[self.depth :]

    @property
    def vector_dimensions(self) -> tuple[str, ...]:
        """The Vars of vector lanes."""
        return tuple(
            d for loop in self.own if loop.kind is LoopKind.VECTORIZED for d in loop.dimensions
        )


@frozen
class FuncFeatures:
    """One computed Func. Extents are per dimension, innermost first, in a typical visit.

    Attributes:
        types: the element type of each component.
        args: its Vars.
        depth: the number of loops around its computation.
        store_depth: the number of these loops that are around its storage.
        visits: how often it is computed.
        allocations: how often it is allocated; 1 for outputs.
        required: the extents that consumers read in a visit.
        computed: the extents that a visit computes; smaller than ``required`` if a window slides.
        stored: the extents that one allocation must keep.
        allocated: the extents of an allocation after folding.
        whole: the extents of all required values, each once.
        slides: whether storage outlives a visit, so that the loops between must run in order.
    """

    name: str
    types: tuple[Type, ...]
    args: tuple[str, ...]
    is_output: bool
    depth: int
    store_depth: int
    visits: SymbolicNumber
    allocations: SymbolicNumber
    required: tuple[SymbolicNumber, ...]
    computed: tuple[SymbolicNumber, ...]
    stored: tuple[SymbolicNumber, ...]
    allocated: tuple[SymbolicNumber, ...]
    whole: tuple[SymbolicNumber, ...]
    slides: bool
    stages: tuple[StageFeatures, ...]

    @cached_property
    def formulas(self) -> tuple[Expr, ...]:
        """Its formulas, each once."""
        return tuple(dict.fromkeys(_leaves(tuple(getattr(self, n) for n in _FIELDS[type(self)]))))

    @cached_property
    def constants(self) -> FuncFeatures | None:
        """The same record with numbers if no formula names anything, as those of a structure
        without parameters at given sizes; else None.
        """
        try:
            constants: FuncFeatures = _replaced(self, _constant)
        except FormulaError:
            return None
        return constants

    @property
    def bytes(self) -> int:
        """Bytes of one element, all components together."""
        return sum(type.bytes for type in self.types)

    @property
    def points(self) -> SymbolicNumber:
        """Values computed by the pure definition, redundant ones included."""
        return self.stages[0].points

    @property
    def distinct(self) -> SymbolicNumber:
        """The number of required values, which computing at root would compute."""
        return volume(self.whole)

    @property
    def redundant(self) -> SymbolicNumber:
        """The number of repeated computations of values: R of [S19] (2)."""
        return self.points - self.distinct

    @property
    def allocation_bytes(self) -> SymbolicNumber:
        """Bytes of one allocation, after folding; 0 for outputs, which the caller allocates."""
        return 0 * self.visits if self.is_output else volume(self.allocated) * self.bytes

    @property
    def unfolded_bytes(self) -> SymbolicNumber:
        """Bytes of one allocation without folding: B of [S19] (1) and (8)."""
        return volume(self.stored) * self.bytes

    @property
    def stores(self) -> SymbolicNumber:
        """The number of values that all stages store."""
        return total(stage.points for stage in self.stages)


@frozen
class KernelFeatures:
    """One GPU kernel, named by the stage whose block loops it has.

    Attributes:
        blocks: the blocks of the grid, in a typical launch if an outer loop changes them.
        block: threads along x, y and z, after producers have widened the block [S20 3.2].
        shared_bytes: the bytes of shared memory of a block.
        private_bytes: bytes that a thread keeps for itself, in registers or elsewhere.
    """

    func: str
    stage: int
    blocks: SymbolicNumber
    block: tuple[SymbolicNumber, SymbolicNumber, SymbolicNumber]
    shared_bytes: SymbolicNumber
    private_bytes: SymbolicNumber

    @property
    def threads(self) -> SymbolicNumber:
        """Threads of a block."""
        return volume(self.block)


@frozen
class Features:
    """Everything counted about one structure: its computed Funcs, producers first, and its GPU
    kernels.

    Attributes:
        is_image: which buffers are images, by name; in a half-decided schedule, open Funcs are.
        image_extents: those of each image whose size is known.
        readers: for a lower bound, which Funcs may read each image of the pipeline in a completion;
            without an entry for open Funcs. Else empty.
    """

    pipeline: Pipeline
    schedule: Schedule
    funcs: tuple[FuncFeatures, ...]
    kernels: tuple[KernelFeatures, ...]
    is_image: Mapping[str, bool] = field(eq=False)
    image_extents: Mapping[str, tuple[int, ...]] = field(eq=False, factory=dict)
    readers: Mapping[str, frozenset[str]] = field(eq=False, factory=dict)

    def func(self, name: str) -> FuncFeatures:
        """The features of one computed Func.

        Raises:
            KeyError: the Func is inlined, or does not exist.
        """
        for func in self.funcs:
            if func.name == name:
                return func
        raise KeyError(f"{name} is not computed in this schedule of {self.pipeline.name}.")

    @property
    def stages(self) -> tuple[StageFeatures, ...]:
        """The stages of all computed Funcs, producers first."""
        return tuple(stage for func in self.funcs for stage in func.stages)

    @property
    def names(self) -> frozenset[str]:
        """The parameters and sizes that its formulas name."""
        leaves = (*_leaves(self.funcs), *_leaves(self.kernels))
        return frozenset().union(*(leaf.names for leaf in leaves))

    def read(self, values: Mapping[str, Any], reading: Reading[Any] = ARRAYS) -> Features:
        """The same record with every formula read at ``values``.

        Raises:
            FormulaError: a parameter or size has no value.
        """
        return self.mapped(lambda leaves: read_all(leaves, values, reading))

    def mapped(
        self, numbers_of: Callable[[tuple[Expr, ...]], Iterable[SymbolicNumber]]
    ) -> Features:
        """The same record with the numbers that ``numbers_of`` gives for its formulas."""
        varying = (func for func in self.funcs if func.constants is None)
        of_funcs = (formula for func in varying for formula in func.formulas)
        leaves = tuple(dict.fromkeys((*of_funcs, *_leaves(self.kernels))))
        number = dict(zip(leaves, numbers_of(leaves), strict=True)).__getitem__
        return attrs.evolve(
            self,
            funcs=tuple(func.constants or _replaced(func, number) for func in self.funcs),
            kernels=_replaced(self.kernels, number),
        )

    def read_ints(self, values: Mapping[str, int]) -> Features:
        """The same record with ints."""
        return self.read(values, INTEGERS)

    @cached_property
    def ordered(self) -> frozenset[LoopKey]:
        """Loops that must run in order, because later iterations read a value of an earlier one:
        the loops between the storage and the computation of a Func.
        """
        return frozenset(
            loop.key
            for func in self.funcs
            if func.slides
            for loop in func.stages[0].loops[func.store_depth : func.depth]
        )

    @cached_property
    def constant_loops(self) -> frozenset[LoopKey]:
        """Loops that have the same number of iterations for all sizes, as compilers see it: inner
        loops of splits, and those over dimensions that have as many values in each visit.
        """
        found: set[LoopKey] = set()
        for func in reversed(self.funcs):
            args = self._constant_args(func, found)
            for stage in func.stages:
                order = self.schedule.of(func.name).stages[stage.index]
                names = of_constant_extent(args, order.splits)
                found |= {loop.key for loop in stage.own if loop.key[2] in names}
        return frozenset(found)

    def _constant_args(self, func: FuncFeatures, constant: Collection[LoopKey]) -> list[str]:
        """The dimensions of a Func that have as many values in each visit: all loops of its readers
        inside the compute level that move along them are ``constant``.
        """
        if func.depth == 0:
            return []
        moving: set[str] = set()
        for reader in self.stages:
            loops = [
                loop
                for loop in reader.loops[func.depth :]
                if not (loop.kind.has_constant_extent or loop.key in constant)
            ]
            for access in reader.work.accesses:
                if access.buffer == func.name != reader.func:
                    for arg, index in zip(func.args, access.indices, strict=True):
                        for loop in loops:
                            own = loop.key[0] == reader.func
                            if not own or not index.moved_by.isdisjoint(loop.dimensions):
                                moving.add(arg)
        return [arg for arg in func.args if arg not in moving]

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

        These are the reads of one visit or, if a value outlives the visit, the reads of a whole
        iteration of the loop at the compute level. [RK13] counts one operation for each added
        value, which gives the same number as reads.
        """
        features = self.func(func)
        level = features.stages[0].loops[features.depth - 1] if features.slides else None
        inside = features.stages if level is None else self.stages
        return total(_typical_reads(s, level) for s in inside if _is_inside(s, level))

    def working_set(self, func: str) -> SymbolicNumber:
        """Bytes that one visit of ``func`` touches: those that it reads of buffers, and its own."""
        features = self.func(func)
        own = volume(features.required) * features.bytes
        return own + total(
            self.footprint(stage, buffer, dict(zip(features.args, features.required, strict=True)))
            for stage in features.stages
            for buffer in stage.work.buffers
            if buffer != func
        )

    def footprint(
        self, stage: StageFeatures, buffer: str, extents: Mapping[str, SymbolicNumber]
    ) -> SymbolicNumber:
        """Bytes of ``buffer`` that ``stage`` reads while its Vars range over ``extents``:
        B of [S19] (7), (10) and (11).
        """
        return total(
            volume(read_extents(access, extents)) * self.element_bytes(buffer)
            for access in stage.work.accesses
            if access.buffer == buffer
        )

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
        """The dimensions of a buffer as they lie in memory, innermost first: of images and outputs
        as their strides say, of other Funcs as the schedule does.
        """
        return self._orders[buffer]

    @cached_property
    def _orders(self) -> Mapping[str, tuple[int, ...]]:
        pipeline, entries = self.pipeline, {entry.name: entry for entry in self.schedule.funcs}
        orders = {
            one.name: _by_steps(pipeline, one.name, one.dimensions) for one in pipeline.images
        }
        for one in pipeline.functions:
            if one.name in pipeline.outputs or one.name not in entries:
                orders[one.name] = _by_steps(pipeline, one.name, len(one.args))
            else:
                orders[one.name] = memory_order(one.args, entries[one.name].storage_orders)
        return orders

    def along_rows(self, func: FuncFeatures) -> tuple[str, ...]:
        """The Var along which values of a Func are neighbors in memory; none without Vars."""
        return tuple(func.args[d] for d in self.order(func.name)[:1])

    def element_bytes(self, buffer: str) -> int:
        """Bytes of one element of a Func or image."""
        if self.is_image[buffer]:
            return self.pipeline.image(buffer).type.bytes
        return self.pipeline.function(buffer).bytes

    def loads_of_funcs(self, stage: StageFeatures) -> SymbolicNumber:
        """The number of values of stored Funcs that a stage loads [TOY]."""
        return stage.points * loads_of_funcs(stage.work, self.is_image)


def total(numbers: Any) -> SymbolicNumber:
    """The sum of formulas or arrays, 0 without any."""
    return sum(numbers)


def volume(extents: Sequence[SymbolicNumber]) -> SymbolicNumber:
    """The product of extents, 1 without any."""
    result: SymbolicNumber = 1
    for extent in extents:
        result = extent if isinstance(result, int) and result == 1 else result * extent
    return result


def reads_of(stage: StageFeatures) -> SymbolicNumber:
    """The number of values of Funcs and images that a stage reads."""
    return stage.points * sum(access.reads for access in stage.work.accesses)


def read_extents(
    access: ReadGroup, extents: Mapping[str, SymbolicNumber]
) -> tuple[SymbolicNumber, ...]:
    """The number of elements that ``access`` spans in each dimension, while Vars range over
    ``extents``.
    """
    return spans(access.indices, extents)


def spans(
    indices: Iterable[Index], extents: Mapping[str, SymbolicNumber]
) -> tuple[SymbolicNumber, ...]:
    """The number of elements that coordinates span, each in its dimension, while Vars range over
    ``extents``.
    """
    result = []
    for index in indices:
        span: SymbolicNumber = index.spread + 1
        for var, step in index.moves:
            moved = (extents[var] - 1) * abs(step.numerator)
            span = span + (moved if step.denominator == 1 else moved // step.denominator)
        result.append(span)
    return tuple(result)


def _by_steps(pipeline: Pipeline, buffer: str, dimensions: int) -> tuple[int, ...]:
    """The dimensions of an array, those with the least strides first."""
    steps = pipeline.steps(buffer, dimensions)
    return tuple(sorted(range(dimensions), key=lambda d: (steps[d] is None, steps[d] or 0)))


def _is_inside(stage: StageFeatures, level: LoopFeatures | None) -> bool:
    return level is None or any(loop.key == level.key for loop in stage.loops)


def _typical_reads(stage: StageFeatures, level: LoopFeatures | None) -> SymbolicNumber:
    """Reads of a stage in a typical iteration of ``level``, or in a typical visit of the stage."""
    keys = [loop.key for loop in stage.loops]
    first = stage.depth if level is None else keys.index(level.key) + 1
    reads = sum(access.reads for access in stage.work.accesses)
    return volume(tuple(loop.trips for loop in stage.loops[first:])) * reads


_FIELDS: Mapping[type, tuple[str, ...]] = {
    record: tuple(attribute.name for attribute in attrs.fields(record))
    for record in (FuncFeatures, StageFeatures, LoopFeatures, KernelFeatures)
}
"""The records of features, each with its attributes."""


def _leaves(record: Any) -> Iterator[Expr]:
    """Every formula in a record."""
    if isinstance(record, Expr):
        yield record
    elif isinstance(record, tuple):
        for part in record:
            yield from _leaves(part)
    elif type(record) in _FIELDS:
        for name in _FIELDS[type(record)]:
            yield from _leaves(getattr(record, name))


def _replaced(record: Any, number: Callable[[Expr], Any]) -> Any:
    """The same record with numbers in place of formulas."""
    if isinstance(record, Expr):
        return number(record)
    if isinstance(record, tuple):
        return tuple([_replaced(part, number) for part in record])
    kind = type(record)
    if kind in _FIELDS:
        return kind(*[_replaced(getattr(record, name), number) for name in _FIELDS[kind]])
    return record


def _constant(formula: Expr) -> int | float:
    """The number of a formula that names nothing.

    Raises:
        FormulaError: it names something.
    """
    return formula.value if isinstance(formula, Const) else read(formula, {}, INTEGERS)
