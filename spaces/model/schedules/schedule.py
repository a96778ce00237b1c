"""Schedules as values: for each Func a call schedule, for each of its stages a domain order.

The records hold whatever was written, legal or not; :func:`spaces.verify` names everything that is
wrong, all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import attrs
from attrs import field, frozen

from spaces.markup.card import Card
from spaces.markup.shows_card import ShowsCard
from spaces.model.algorithm.inlined import live_functions
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.conditions import check_size
from spaces.model.schedules.derivations import Derivation
from spaces.model.schedules.domain_order import DomainOrder, Factor, OrderedLoop
from spaces.model.showing import shown, shown_card
from spaces.model.suggestions import some_of


class MemoryType(Choice, halide="MemoryType", called="a kind of memory"):
    """Where a Func's values are stored."""

    AUTO = "auto"
    HEAP = "heap"
    STACK = "stack"
    REGISTER = "register"
    GPU_SHARED = "gpu_shared"


AUTO_STACK_BYTES = 16 << 10
"""On a CPU, ``AUTO`` is the stack for a Func of up to this many bytes, as in Halide."""


@frozen
class LoopLevel:
    """A place in the loop nest: inline, root, or just inside loop ``loop`` of Func ``func``."""

    func: str = ""
    loop: str = ""

    @property
    def is_inline(self) -> bool:
        """Whether the Func is substituted into its consumers."""
        return self == INLINE

    @property
    def is_root(self) -> bool:
        """Whether the place is outside all loops."""
        return self == ROOT

    def __str__(self) -> str:
        if self.is_inline or self.is_root:
            return "inline" if self.is_inline else "root"
        return f"{self.func}.{self.loop}"


INLINE = LoopLevel("", "")
ROOT = LoopLevel("", "__root")


@frozen
class Fold:
    """Storage of dimension ``dimension`` (a Var of the Func) is reused modulo ``factor``. The
    window that is read moves up, or down if not ``forward``.
    """

    dimension: str
    factor: Factor
    forward: bool = True


@frozen
class Pad:
    """The storage of dimension ``dimension`` takes a multiple of ``multiple`` values."""

    dimension: str
    multiple: int


@frozen
class StorageBound:
    """The storage of dimension ``dimension`` holds ``extent`` values; more are never needed."""

    dimension: str
    extent: int


@frozen
class Bound:
    """Dimension ``dimension`` is computed for ``extent`` coordinates from ``min`` on; where ``min``
    is None, from the first that is required.
    """

    dimension: str
    min: int | None
    extent: int


@frozen
class Alignment:
    """Widen what is computed along ``dimension`` until the extent is a multiple of ``modulus`` and
    the first coordinate is ``remainder`` modulo ``modulus``. With ``remainder`` None the first
    coordinate stays.
    """

    dimension: str
    modulus: int
    remainder: int | None = 0


class _OfDimension(Protocol):
    @property
    def dimension(self) -> str: ...


_D = TypeVar("_D", bound=_OfDimension)


def _last_of_each_dimension(records: Iterable[_D]) -> tuple[_D, ...]:
    """Of several records of a dimension the last counts, as in Halide."""
    last = {record.dimension: record for record in records}
    return tuple(sorted(last.values(), key=lambda record: record.dimension)) if last else ()


def _last_folds(folds: Iterable[Fold]) -> tuple[Fold, ...]:
    return _last_of_each_dimension(folds)


def _last_pads(pads: Iterable[Pad]) -> tuple[Pad, ...]:
    return _last_of_each_dimension(pads)


def _last_storage_bounds(bounds: Iterable[StorageBound]) -> tuple[StorageBound, ...]:
    return _last_of_each_dimension(bounds)


def _without_overruled(orders: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """An order of dimensions has no effect once a later one has all of its dimensions."""
    kept: tuple[tuple[str, ...], ...] = ()
    for order in orders:
        kept = (*(k for k in kept if not set(k) <= set(order)), *([order] if order else []))
    return kept


class LoopAlign(Choice, halide="LoopAlignStrategy", called="a loop alignment"):
    """Which iterations of fused loops run together: those of the same number; the first ones of
    both; or the last ones.
    """

    AUTO = "auto"
    NO_ALIGN = "no_align"
    ALIGN_START = "align_start"
    ALIGN_END = "align_end"


@frozen
class StageOf:
    """One stage of a Func: its pure definition, or update ``stage - 1``."""

    func: str
    stage: int = 0

    def __str__(self) -> str:
        return f"{self.func}.update({self.stage - 1})" if self.stage else self.func


def _last_alignments(pairs: Iterable[tuple[str, LoopAlign]]) -> tuple[tuple[str, LoopAlign], ...]:
    """The last alignment of each loop that has one."""
    last = dict(pairs).items()
    return tuple((loop, align) for loop, align in last if align is not LoopAlign.AUTO)


@frozen
class Companion:
    """The loops of stage ``stage`` down to ``loop`` are fused with the loops of ``other``. In
    ``aligned`` loops other iterations run together than those of the same number.
    """

    other: StageOf
    loop: str
    aligned: tuple[tuple[str, LoopAlign], ...] = field(default=(), converter=_last_alignments)
    stage: int = 0

    @property
    def alignment(self) -> LoopAlign | tuple[tuple[str, LoopAlign], ...]:
        """How iterations of ``loop``, or of each aligned loop, run together."""
        if not self.aligned or [loop for loop, _ in self.aligned] == [self.loop]:
            return self.align(self.loop)
        return self.aligned

    def align(self, loop: str) -> LoopAlign:
        """Which iterations of a fused loop run together."""
        return dict(self.aligned).get(loop, LoopAlign.AUTO)


def _last_of_each_stage(companions: Iterable[Companion]) -> tuple[Companion, ...]:
    """A stage is computed with one other: the last one named."""
    last = {one.stage: one for one in companions}
    return tuple(sorted(last.values(), key=lambda one: one.stage)) if last else ()


@frozen
class Specialization:
    """Where ``condition`` holds, and no earlier condition does, stage ``stage`` follows ``order``
    instead. With a ``failure`` the pipeline stops there with that message.

    Raises:
        ConditionError: the condition is too large to be written as text.
    """

    stage: int
    condition: Expr = field(validator=lambda self, attribute, value: check_size(value))
    order: DomainOrder
    failure: str = ""


def _first_of_each_case(records: Iterable[Specialization]) -> tuple[Specialization, ...]:
    """By stage, in the order in which they are tested; each condition once."""
    first: dict[tuple[int, Expr], Specialization] = {}
    for record in records:
        first.setdefault((record.stage, record.condition), record)
    return tuple(sorted(first.values(), key=lambda record: record.stage)) if first else ()


def _each_once(stages: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(stages)))


@frozen(cache_hash=True)
class FuncSchedule:
    """Everything scheduled about one Func.

    Attributes:
        name: the Func.
        stages: the domain order of its pure stage, then of each update.
        compute: where it is computed.
        store: where its storage begins to be used.
        memory: the kind of memory it is stored in.
        folds: one entry a folded dimension, by name.
        storage_orders: orders of dimensions in storage, innermost first, applied one after the
            other to the places that those dimensions hold.
        pads: one entry a padded dimension, by name.
        storage_bounds: one entry a dimension whose storage is bounded, by name.
        bounds: bounds and their alignment, as written; as in Halide the last is applied first.
        hoist: where the memory for its storage is obtained; inline for where it is stored.
        specializations: other domain orders of stages, with the conditions under which they apply;
        those of one stage in the order in which they are tested.
        atomic: the stages that change an element in one step; iterations that change the same
        element may then run at once.
        companions: by stage, the stage of another Func that it is computed with.
        memoized: whether its values are kept for later calls.
        asynchronous: whether it may be computed beside its readers, and need not be done before
        they begin.
        ring: how many iterations' values its hoisted memory holds, used in turn; None for one.
    """

    name: str
    stages: tuple[DomainOrder, ...]
    compute: LoopLevel = INLINE
    store: LoopLevel = INLINE
    memory: MemoryType = MemoryType.AUTO
    folds: tuple[Fold, ...] = field(default=(), converter=_last_folds)
    storage_orders: tuple[tuple[str, ...], ...] = field(default=(), converter=_without_overruled)
    pads: tuple[Pad, ...] = field(default=(), converter=_last_pads)
    storage_bounds: tuple[StorageBound, ...] = field(default=(), converter=_last_storage_bounds)
    bounds: tuple[Bound | Alignment, ...] = ()
    hoist: LoopLevel = INLINE
    specializations: tuple[Specialization, ...] = field(default=(), converter=_first_of_each_case)
    atomic: tuple[int, ...] = field(default=(), converter=_each_once)
    companions: tuple[Companion, ...] = field(default=(), converter=_last_of_each_stage)
    memoized: bool = False
    asynchronous: bool = False
    ring: int | None = None

    @property
    def records(self) -> int:
        """How many loops, splits, bounds and other parts there are in all."""
        own = (self.folds, self.storage_orders, self.pads, self.storage_bounds, self.bounds)
        orders = (*self.stages, *(one.order for one in self.specializations))
        return sum(map(len, (*own, self.specializations))) + sum(
            len(part) for order in orders for part in attrs.astuple(order, recurse=False)
        )

    @property
    def is_hoisted(self) -> bool:
        """Whether memory is obtained elsewhere than where it begins to be used."""
        return not self.hoist.is_inline and self.hoist != self.store

    @property
    def hosts(self) -> tuple[str, str]:
        """The Funcs at whose loops the Func is computed and stored; empty names for none."""
        return self.compute.func, self.store.func

    @staticmethod
    def default(function: Function, stored: bool) -> FuncSchedule:
        """Row-major serial loops; at root where it is ``stored``, else inlined."""
        level = ROOT if stored else INLINE
        stages = tuple(
            DomainOrder(loops=tuple(OrderedLoop(d) for d in reversed(stage.dimensions)))
            for stage in function.stages
        )
        return FuncSchedule(function.name, stages, level, level)


SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        one.name: one.default
        for one in attrs.fields(FuncSchedule)
        if one.default is False or one.default is None
    }
)
"""What one directive sets of a whole Func, with the value where no directive does: whether it is
``memoized``, how many iterations' values its ``ring`` holds.
"""


@frozen(repr=False)
class Schedule(ShowsCard):
    """The schedule of a whole pipeline: one entry a Func, producers first.

    ``derivations`` rewrite the pipeline, in this order, before anything else; the Funcs that they
    add have entries, too.
    """

    funcs: tuple[FuncSchedule, ...]
    derivations: tuple[Derivation, ...] = ()

    @staticmethod
    def default(pipeline: Pipeline) -> Schedule:
        """Row-major serial loops over the outputs; pure Funcs inlined [TOY]; Funcs that are read
        and cannot be inlined, because of updates or foreign code, computed at root.
        """
        names = frozenset(function.name for function in pipeline.functions)
        live = live_functions(pipeline, names)
        computed = {f.name for f in live if not pipeline.may_inline(f.name)}
        computed.update(pipeline.outputs)
        entries = (FuncSchedule.default(f, f.name in computed) for f in pipeline.functions)
        return Schedule(tuple(entries), pipeline.derivations)

    def __str__(self) -> str:
        return shown(self)

    def _card(self) -> Card:
        return shown_card(self)

    def __repr__(self) -> str:
        return f"<Schedule of {some_of([entry.name for entry in self.funcs])}>"

    @cached_property
    def _by_name(self) -> dict[str, FuncSchedule]:
        return {func.name: func for func in reversed(self.funcs)}

    def of(self, name: str) -> FuncSchedule:
        """The entry of one Func.

        Raises:
            KeyError: the pipeline has no such Func.
        """
        found = self._by_name.get(name)
        if found is not None:
            return found
        raise KeyError(
            f"There is no Func {name!r} to schedule; there are "
            f"{', '.join(f.name for f in self.funcs)}."
        )

    @property
    def has_gpu_loops(self) -> bool:
        """Whether a stage has loops over the blocks or threads of a GPU."""
        stages = (stage for entry in self.funcs for stage in entry.stages)
        return any(loop.kind.is_gpu for stage in stages for loop in stage.loops)

    def replace(self, func: FuncSchedule) -> Schedule:
        """The same schedule with the entry of that name replaced."""
        self.of(func.name)
        return self.with_funcs(func if f.name == func.name else f for f in self.funcs)

    def with_funcs(self, funcs: Iterable[FuncSchedule]) -> Schedule:
        """The same derivations with these entries."""
        return Schedule(tuple(funcs), self.derivations)

    def with_stage(self, name: str, stage: int, order: DomainOrder) -> Schedule:
        """The same schedule with the domain order of one stage replaced."""
        func = self.of(name)
        stages = (*func.stages[:stage], order, *func.stages[stage + 1 :])
        return self.replace(attrs.evolve(func, stages=stages))
