"""The records that make up features: one loop, one stage, one Func, one GPU kernel.

Their numbers are formulas, or ints or arrays that these were read as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar, cast

import attrs
from attrs import frozen

from spaces.features.work import Work
from spaces.model.expressions.expr import Const, Expr
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import INTEGERS, FormulaError, read
from spaces.model.formulas.symbolic import SymbolicNumber, maximum
from spaces.model.schedules.domain_order import LoopKind

LoopKey = tuple[str, int, str]
"""The key of a loop in its nest: Func, stage and name."""


@frozen
class LoopFeatures:
    """One loop around or in a stage. A loop that several stages share (``compute_with``) has the
    name that one of them gives it, and for each stage this stage's own dimensions, trips and runs.

    Attributes:
        dimensions: the Vars and RVars of its own stage that it moves along.
        covers: for each dimension the number of its values in a typical visit. If ``fuse`` has
            joined several dimensions, their product is the number of iterations.
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

    @property
    def positive_trips(self) -> SymbolicNumber:
        """The trips, at least one. A loop that seldom runs has less than one on average, and a loop
        over no values has none.
        """
        return maximum(self.trips, 1)


@frozen
class StageFeatures:
    """One stage of a computed Func.

    Attributes:
        work: the operations and reads of one evaluation.
        loops: the loops around it, outermost first; the first ``depth`` belong to consumers.
        points: the number of all evaluations, redundant ones included.
        guarded_values: the values along the loops that a guarded split vectorizes; 1 without any.
        guarded_lanes: the lanes of the vectors that hold them, with those that the guard switches
            off.
        lanes: the iterations of its vectorized loops, 1 without vectorized loops.
        reduced: its RVars.
    """

    func: str
    index: int
    work: Work
    loops: tuple[LoopFeatures, ...]
    depth: int
    points: SymbolicNumber
    guarded_values: SymbolicNumber
    guarded_lanes: SymbolicNumber
    lanes: SymbolicNumber
    reduced: tuple[str, ...] = ()

    @property
    def visits(self) -> SymbolicNumber:
        """How often the program enters its loops."""
        return self.loops[self.depth - 1].runs if self.depth else 1

    @property
    def executed(self) -> SymbolicNumber:
        """The evaluations with the lanes that a guard switches off: vectors are executed whole."""
        return self.points * self.guarded_lanes / maximum(self.guarded_values, 1)

    @property
    def own(self) -> tuple[LoopFeatures, ...]:
        """The loops of its own domain order."""
        return self.loops[self.depth :]

    @property
    def reduced_extents(self) -> Mapping[str, SymbolicNumber]:
        """The number of values of each RVar in a visit."""
        extents: dict[str, SymbolicNumber] = dict.fromkeys(self.reduced, 1)
        for loop in self.own:
            for name, values in zip(loop.dimensions, loop.covers, strict=True):
                if name in extents:
                    extents[name] = extents[name] * values
        return extents

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
        return tuple(dict.fromkeys(leaves_of(tuple(getattr(self, n) for n in _FIELDS[type(self)]))))

    @cached_property
    def constants(self) -> FuncFeatures | None:
        """The same record with numbers if no formula names anything, as those of a structure
        without parameters at given sizes; else None.
        """
        try:
            return with_numbers(self, _constant)
        except FormulaError:
            return None

    @cached_property
    def known(self) -> dict[Any, Any]:
        """What searches found of the Func. A key has everything besides this record that the
        finding depends on. The findings live as long as the record, which occurs in many
        structures.
        """
        return {}

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


def total(numbers: Iterable[SymbolicNumber]) -> SymbolicNumber:
    """The sum of formulas or arrays, 0 without any."""
    return sum(numbers)


def volume(extents: Sequence[SymbolicNumber]) -> SymbolicNumber:
    """The product of extents, 1 without any."""
    result: SymbolicNumber = 1
    for extent in extents:
        result = extent if isinstance(result, int) and result == 1 else result * extent
    return result


Record = TypeVar("Record")

_RECORDS = (FuncFeatures, StageFeatures, LoopFeatures, KernelFeatures)

_FIELDS: Mapping[Callable[..., object], tuple[str, ...]] = {
    record: tuple(attribute.name for attribute in attrs.fields(record)) for record in _RECORDS
}
"""The records of features, each with its attributes."""

_WITH_NUMBERS: Mapping[Callable[..., object], frozenset[str]] = {
    record: frozenset(
        attribute.name
        for attribute in attrs.fields(record)
        if any(part in str(attribute.type) for part in ("SymbolicNumber", "Features"))
    )
    for record in _RECORDS
}
"""Those of these attributes that hold numbers, or records with numbers, by their types."""


def leaves_of(record: object) -> Iterator[Expr]:
    """Every formula in a record."""
    if isinstance(record, Expr):
        yield record
    elif isinstance(record, tuple):
        for part in record:
            yield from leaves_of(part)
    elif type(record) in _FIELDS:
        for name in _FIELDS[type(record)]:
            if name in _WITH_NUMBERS[type(record)]:
                yield from leaves_of(getattr(record, name))


def with_numbers(record: Record, number: Callable[[Expr], SymbolicNumber]) -> Record:
    """The same record, or tuple of records, with numbers in place of formulas."""
    return cast(Record, _with_numbers(record, number))


def _with_numbers(part: object, number: Callable[[Expr], SymbolicNumber]) -> object:
    if isinstance(part, Expr):
        return number(part)
    if isinstance(part, tuple):
        return tuple([_with_numbers(one, number) for one in part])
    kind: Callable[..., object] = type(part)
    if kind not in _FIELDS:
        return part
    holds_numbers = _WITH_NUMBERS[kind]
    parts = ((name, getattr(part, name)) for name in _FIELDS[kind])
    return kind(*[_with_numbers(p, number) if n in holds_numbers else p for n, p in parts])


@lru_cache(maxsize=1 << 14)
def _constant(formula: Expr) -> int | float:
    """The number of a formula that names nothing. The loops of a nest share most formulas.

    Raises:
        FormulaError: it names something.
    """
    return formula.value if isinstance(formula, Const) else read(formula, {}, INTEGERS)
