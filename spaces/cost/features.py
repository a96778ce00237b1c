"""Features of a loop nest as formulas, written once and read as ints or as arrays.

A :class:`Features` holds a number for each quantity. :func:`spaces.cost.counting.features` gives
formulas: expressions over tile parameters and sizes. :meth:`Features.read` gives the same record
with ints, or with arrays for all tile choices of one structure at once. What follows from these
numbers by arithmetic alone (bytes, loads, distances) are properties and methods, which therefore
work on formulas and arrays alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
from attrs import field, frozen

from spaces.constraints.devices.occupancy import SymbolicNumber
from spaces.cost.accesses import ReadGroup, Work, loads_of_funcs
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import ARRAYS, INTEGERS, Reading, read_all
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule


@frozen
class LoopFeatures:
    """One loop around or in a stage. A loop that is fused with those of other stages has the name
    of one of them, and for each stage the dimensions, trips and runs that are its own.

    Attributes:
        dimensions: the Vars and RVars of its own stage that it walks along.
        trips: iterations in a typical visit.
        runs: how often its body runs in all.
    """

    func: str
    stage: int
    loop: str
    kind: LoopKind
    dimensions: tuple[str, ...]
    trips: SymbolicNumber
    runs: SymbolicNumber

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells it from all other loops of the nest: Func, stage and name."""
        return (self.func, self.stage, self.loop)


@frozen
class StageFeatures:
    """One stage of a computed Func.

    Attributes:
        work: what one evaluation does.
        loops: the loops around it, outermost first; the first ``depth`` belong to consumers.
        points: evaluations in all, redundant ones included.
        lanes: iterations of its vectorized loops, 1 if there are none.
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
        """How often its loops are entered."""
        return self.loops[self.depth - 1].runs if self.depth else 1

    @property
    def own(self) -> tuple[LoopFeatures, ...]:
        """The loops of its own domain order."""
        return self.loops[self.depth :]

    @property
    def vector_dimensions(self) -> tuple[str, ...]:
        """The Vars along which vector lanes lie."""
        return tuple(
            d for loop in self.own if loop.kind is LoopKind.VECTORIZED for d in loop.dimensions
        )


@frozen
class FuncFeatures:
    """One computed Func. Extents are per dimension, innermost first, in a typical visit.

    Attributes:
        types: the element type of each component.
        args: its Vars.
        depth: loops around its computation.
        store_depth: how many of those are around its storage.
        visits: how often it is computed.
        allocations: how often it is allocated; 1 for outputs.
        required: what consumers read in a visit.
        computed: what a visit computes; less than required where a window slides.
        stored: what must be kept in one allocation.
        allocated: what is kept after folding.
        whole: everything that is needed at all, each value once.
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
        """Values needed: what computing at root would compute."""
        return volume(self.whole)

    @property
    def redundant(self) -> SymbolicNumber:
        """Values computed more than once, by how often more: R of [S19] (2)."""
        return self.points - self.distinct

    @property
    def allocation_bytes(self) -> SymbolicNumber:
        """Bytes of one allocation, after folding; outputs are the caller's: 0."""
        return 0 * self.visits if self.is_output else volume(self.allocated) * self.bytes

    @property
    def unfolded_bytes(self) -> SymbolicNumber:
        """Bytes that one allocation would take without folding: B of [S19] (1) and (8)."""
        return volume(self.stored) * self.bytes

    @property
    def stores(self) -> SymbolicNumber:
        """Values stored, by all stages."""
        return total(stage.points for stage in self.stages)


@frozen
class KernelFeatures:
    """One GPU kernel, named by the stage whose block loops it has.

    Attributes:
        blocks: blocks of the grid; of a typical launch where a loop around it changes them.
        block: threads along x, y and z, after producers have widened the block [S20 3.2].
        shared_bytes: bytes of shared memory that a block asks for.
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
    """

    pipeline: Pipeline
    schedule: Schedule
    funcs: tuple[FuncFeatures, ...]
    kernels: tuple[KernelFeatures, ...]
    is_image: Mapping[str, bool] = field(eq=False)

    def func(self, name: str) -> FuncFeatures:
        """The features of one computed Func.

        Raises:
            KeyError: it is inlined, or there is none of that name.
        """
        for func in self.funcs:
            if func.name == name:
                return func
        raise KeyError(f"{name} is not computed in this schedule of {self.pipeline.name}.")

    @property
    def stages(self) -> tuple[StageFeatures, ...]:
        """The stages of all computed Funcs, producers first."""
        return tuple(stage for func in self.funcs for stage in func.stages)

    def read(self, values: Mapping[str, Any], reading: Reading[Any] = ARRAYS) -> Features:
        """The same record with every formula read at ``values``.

        Raises:
            FormulaError: a parameter or size has no value.
        """
        leaves = tuple(dict.fromkeys((*_leaves(self.funcs), *_leaves(self.kernels))))
        numbers = dict(zip(leaves, read_all(leaves, values, reading), strict=True))
        return attrs.evolve(
            self,
            funcs=_replaced(self.funcs, numbers),
            kernels=_replaced(self.kernels, numbers),
        )

    def read_ints(self, values: Mapping[str, int]) -> Features:
        """The same record with ints."""
        return self.read(values, INTEGERS)

    @cached_property
    def ordered(self) -> frozenset[tuple[str, int, str]]:
        """Loops that must run in order, because a value made in one iteration is read in later
        ones: those between the storage and the computation of a Func.
        """
        return frozenset(
            loop.key
            for func in self.funcs
            if func.slides
            for loop in func.stages[0].loops[func.store_depth : func.depth]
        )

    def span(self, func: str) -> SymbolicNumber:
        """How many values of ``func`` could be computed at once: threads and lanes that could be
        kept busy [RK13 Fig. 3].
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
        """Reads between computing a value and reading it back, at most [RK13 Fig. 3].

        That is the reads of one visit, or, where a value outlives the visit, the reads of a whole
        iteration of the loop at the compute level. [RK13] counts one operation a value added up;
        reads count the same.
        """
        features = self.func(func)
        level = features.stages[0].loops[features.depth - 1] if features.slides else None
        inside = features.stages if level is None else self.stages
        return total(_typical_reads(s, level) for s in inside if _is_inside(s, level))

    def working_set(self, func: str) -> SymbolicNumber:
        """Bytes that one visit of ``func`` touches: what is read of each buffer, and its own."""
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
        """The Vars of ``stage`` that move with a loop around it, be it a loop of a consumer."""
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

    def element_bytes(self, buffer: str) -> int:
        """Bytes of one element of a Func or image."""
        if self.is_image[buffer]:
            return self.pipeline.image(buffer).type.bytes
        return self.pipeline.function(buffer).bytes

    def loads_of_funcs(self, stage: StageFeatures) -> SymbolicNumber:
        """Values of stored Funcs that a stage loads in all [TOY]."""
        return stage.points * loads_of_funcs(stage.work, self.is_image)


def total(numbers: Any) -> SymbolicNumber:
    """The sum of formulas or arrays, 0 if there are none."""
    return sum(numbers)


def volume(extents: Sequence[SymbolicNumber]) -> SymbolicNumber:
    """The product of extents, 1 if there are none."""
    result: SymbolicNumber = 1
    for extent in extents:
        result = extent if isinstance(result, int) and result == 1 else result * extent
    return result


def reads_of(stage: StageFeatures) -> SymbolicNumber:
    """Values of Funcs and images that a stage reads in all."""
    return stage.points * sum(access.reads for access in stage.work.accesses)


def read_extents(
    access: ReadGroup, extents: Mapping[str, SymbolicNumber]
) -> tuple[SymbolicNumber, ...]:
    """Elements of the buffer that ``access`` spans a dimension, while Vars range over
    ``extents``.
    """
    result = []
    for index in access.indices:
        span: SymbolicNumber = index.spread + 1
        for var, step in index.moves:
            moved = (extents[var] - 1) * abs(step.numerator)
            span = span + (moved if step.denominator == 1 else moved // step.denominator)
        result.append(span)
    return tuple(result)


def _is_inside(stage: StageFeatures, level: LoopFeatures | None) -> bool:
    return level is None or any(loop.key == level.key for loop in stage.loops)


def _typical_reads(stage: StageFeatures, level: LoopFeatures | None) -> SymbolicNumber:
    """Reads of a stage in a typical iteration of ``level``, or in a typical visit of the stage."""
    keys = [loop.key for loop in stage.loops]
    first = stage.depth if level is None else keys.index(level.key) + 1
    reads = sum(access.reads for access in stage.work.accesses)
    return volume(tuple(loop.trips for loop in stage.loops[first:])) * reads


_RECORDS = (FuncFeatures, StageFeatures, LoopFeatures, KernelFeatures)


def _leaves(record: Any) -> Iterator[Expr]:
    """Every formula in a record."""
    if isinstance(record, Expr):
        yield record
    elif isinstance(record, tuple):
        for part in record:
            yield from _leaves(part)
    elif isinstance(record, _RECORDS):
        for attribute in attrs.fields(type(record)):
            yield from _leaves(getattr(record, attribute.name))


def _replaced(record: Any, numbers: Mapping[Expr, Any]) -> Any:
    """The same record with numbers in place of formulas."""
    if isinstance(record, Expr):
        return numbers[record]
    if isinstance(record, tuple):
        return tuple(_replaced(part, numbers) for part in record)
    if isinstance(record, _RECORDS):
        names = [attribute.name for attribute in attrs.fields(type(record))]
        return type(record)(**{n: _replaced(getattr(record, n), numbers) for n in names})
    return record
